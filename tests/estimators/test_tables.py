"""Estimators of tables keep the contract of scikit-learn, and learn."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from tfattn import TableClassifier, TableRegressor

SMALL = {"name": "feature_tokenizer_transformer", "hidden_dim": 16, "num_layers": 1, "num_heads": 2}
SMALL |= {"attention_dropout": 0.0, "intermediate_dropout": 0.0}
OPTIONS = {"model": SMALL, "epochs": 4, "batch_size": 8, "learning_rate": 1e-2}
# These train nothing, or one model; the others train up to ten models each and are slow.
QUICK = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_fit1d",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}
# The name of each check that is not passed, with the reason.
EXPECTED_FAILURES: dict[str, str] = {}


def checks():
    for kind in (TableClassifier, TableRegressor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for estimator, check in estimator_checks_generator(kind(**OPTIONS)):
                name = check.func.__name__
                marks = [] if name in QUICK else [pytest.mark.slow]
                marks += [pytest.mark.xfail(reason=EXPECTED_FAILURES[name])] if name in EXPECTED_FAILURES else []
                arguments = "-".join(map(str, check.keywords.values()))
                yield pytest.param(estimator, check, marks=marks, id=f"{kind.__name__}-{name}-{arguments}")


@pytest.mark.parametrize(("estimator", "check"), checks())
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(0)
    color = draw.choice(["red", "green", "blue"], 80)
    size = draw.normal(size=80)
    frame = pd.DataFrame({"color": color, "size": size, "code": draw.integers(1, 3, 80), "same": 1.0})
    frame.loc[3, "color"], frame.loc[4, "size"] = None, np.nan
    return frame, np.where((color == "red") | (size > 1), "yes", "no"), 3.0 * (color == "red") + size


@pytest.fixture(scope="module")
def classifier(table):
    frame, labels, _ = table
    return TableClassifier(**OPTIONS | {"epochs": 12}, categorical_features=["code"], random_state=0).fit(frame, labels)


def test_a_classifier_learns_a_table_of_numbers_categories_and_missing_values(classifier, table):
    frame, labels, _ = table
    assert (classifier.numeric_columns_, classifier.categorical_columns_) == ([1], [0, 2])
    assert list(classifier.classes_) == ["no", "yes"] and classifier.score(frame, labels) > 0.85
    scores = classifier.predict_proba(frame)
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-5)
    assert scores.shape == (80, 2) and list(classifier.feature_names_in_) == list(frame.columns)


def test_the_prediction_of_a_row_does_not_depend_on_the_other_rows(classifier, table):
    frame, _, _ = table
    np.testing.assert_array_equal(classifier.predict_proba(frame[5:6]), classifier.predict_proba(frame)[5:6])


def test_a_pickled_classifier_predicts_the_same(classifier, table):
    frame, _, _ = table
    loaded = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(loaded.predict_proba(frame), classifier.predict_proba(frame))


def test_a_regressor_learns_in_a_pipeline(table):
    frame, _, target = table
    regressor = TableRegressor(**OPTIONS | {"epochs": 20}, random_state=0).fit(frame[["color", "size"]], target)
    assert regressor.score(frame[["color", "size"]], target) > 0.5
    with pytest.raises(NotFittedError):
        clone(regressor).predict(frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame, y: (frame[["same"]], y), "expected a column with different values"),
        (lambda frame, y: (frame, np.full(len(y), "yes")), "expected at least 2 classes, received 1 class"),
        (lambda frame, y: (frame, y[:-1]), "expected the same number of rows, received 80 and 79"),
    ],
)
def test_wrong_data_are_one_error(table, change, message):
    frame, labels, _ = table
    with pytest.raises(ValueError, match=message):
        TableClassifier(**OPTIONS).fit(*change(frame, labels))


@pytest.mark.slow
def test_searches_and_cross_validation():
    X, y = load_iris(return_X_y=True, as_frame=True)
    classifier = TableClassifier(**OPTIONS, random_state=0)
    assert cross_val_score(make_pipeline(StandardScaler(), classifier), X, y, cv=3).mean() > 0.8
    search = GridSearchCV(classifier, {"learning_rate": [1e-5, 1e-2]}, cv=2).fit(X, y)
    assert search.best_params_ == {"learning_rate": 1e-2} and search.score(X, y) > 0.8
