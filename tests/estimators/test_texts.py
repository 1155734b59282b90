"""Estimators of texts and pairs of texts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from tfattn import TextClassifier, TextRegressor

OPTIONS = {
    "model": {
        "name": "bert",
        "hidden_dim": 16,
        "num_layers": 1,
        "num_heads": 2,
        "intermediate_dim": 16,
        "dropout": 0.0,
    },
    "preprocessing": {"name": "wordpiece", "vocabulary": "train", "vocabulary_size": 60, "max_length": 12},
    "encoder": "fine_tune",
    "epochs": 12,
    "learning_rate": 1e-2,
    "batch_size": 8,
    "random_state": 0,
}
TEXTS = [
    f"the {thing} number {index} {what}" for index in range(20) for thing, what in [("pump", "leaks"), ("fan", "hums")]
]
LABELS = ["leak", "noise"] * 20


@pytest.fixture(scope="module")
def classifier():
    return TextClassifier(**OPTIONS).fit(TEXTS, LABELS)


def test_a_classifier_reads_lists_arrays_series_and_a_column(classifier):
    assert list(classifier.classes_) == ["leak", "noise"] and classifier.score(TEXTS, LABELS) > 0.9
    expected = classifier.predict_proba(TEXTS)
    for texts in (np.array(TEXTS), pd.Series(TEXTS), pd.DataFrame({"text": TEXTS})):
        np.testing.assert_allclose(classifier.predict_proba(texts), expected, atol=1e-6)
    assert clone(classifier).get_params() == classifier.get_params()


def test_a_regressor_reads_pairs():
    pairs = np.array([[text, other] for text, other in zip(TEXTS, TEXTS[::-1], strict=True)], object)
    regressor = TextRegressor(**OPTIONS | {"epochs": 1}).fit(pairs, np.arange(40) % 2)
    assert regressor.predict(pairs[:3]).shape == (3,)
    with pytest.raises(ValueError, match="expected 2 texts in a row as in fit, received 1"):
        regressor.predict(TEXTS)


def test_a_search_over_a_pipeline_cross_validates():
    lower = FunctionTransformer(lambda texts: texts.str.lower())
    search = GridSearchCV(
        make_pipeline(lower, TextClassifier(**OPTIONS)),
        {"textclassifier__epochs": [12]},
        cv=StratifiedShuffleSplit(1, test_size=0.5, random_state=0),
        error_score="raise",
    )
    texts = pd.Series(TEXTS, index=range(100, 140)).str.upper()
    search.fit(texts, LABELS)
    assert search.best_params_ == {"textclassifier__epochs": 12} and search.best_score_ > 0.9
    assert list(search.predict(texts[:2])) == LABELS[:2]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", "received a single text"),
        ([], "at least 1 text"),
        (["a", " "], "received ' ' in row 1"),
        (["a", None], "received None in row 1"),
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
    ],
)
def test_values_that_are_no_texts_are_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier(**OPTIONS).fit(texts, ["a", "b"])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [TextClassifier, TextRegressor])
def test_checks_of_scikit_learn_for_texts(kind):
    check_estimator(kind(**OPTIONS))
