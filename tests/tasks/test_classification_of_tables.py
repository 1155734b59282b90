"""Table classification: explanations, class weights, losses, predictions and metrics."""

import keras
import numpy as np
import pytest

from tfattn.errors import ConfigError
from tfattn.models.feature_map_transformer import FeatureMapTransformer
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.tasks.classification import Classification
from tfattn.tasks.label_metrics import LabelCounts

DRAW = np.random.default_rng(0)
FEATURES = {
    "numeric": DRAW.normal(size=(4, 14)).astype("float32"),
    "category_ids": DRAW.integers(0, 4, size=(4, 2)).astype("int32"),
}
BATCH = {"label_ids": np.array([0, 1, 1, 0], "int32"), "weights": np.array([1, 1, 1, 0], "float32")}
TWO = {"labels": ["noise", "real"], "counts": [2, 6]}
THREE = {"labels": ["a", "b", "c"], "counts": [1, 1, 1]}


def classifier(model="tokens", targets=TWO, **options):
    if model == "tokens":
        model = FeatureTokenizerTransformer(
            num_numeric=14, category_counts=[4, 4], hidden_dim=8, num_heads=2, num_layers=1
        )
    else:
        model = FeatureMapTransformer(num_numeric=14, category_counts=[])
    return Classification(model=model, targets=targets, **options)


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


@pytest.mark.parametrize(
    ("model", "shapes"),
    [("tokens", {"column_attention": (4, 16)}), ("map", {"essential_features": (4, 4)})],
)
def test_predictions_and_explanations(model, shapes):
    task = classifier(model)
    outputs = task(FEATURES)
    predictions = {name: array(value) for name, value in task.predictions(outputs).items()}
    assert {name: value.shape for name, value in predictions.items()} == {"scores": (4, 2), "label_ids": (4,), **shapes}
    np.testing.assert_allclose(predictions["scores"].sum(-1), 1, rtol=1e-6)
    np.testing.assert_array_equal(predictions["label_ids"], predictions["scores"].argmax(-1))
    assert predictions["label_ids"].dtype == "int32"
    assert outputs["encoded"].shape == (4, task.model.hidden_dim)
    np.testing.assert_allclose(
        array(outputs["logits"]), array(outputs["encoded"]) @ array(task.head.kernel) + array(task.head.bias), atol=1e-5
    )


def losses(task, logits):
    (loss,), (weights,) = task.loss_terms({"logits": logits}, BATCH).values(), task.loss_weights(BATCH).values()
    return array(loss), array(weights)


def test_loss_is_smoothed_cross_entropy_with_label_weights():
    logits = np.array([[2.0, 0.0], [0.0, 0.0], [-1.0, 3.0], [9.0, 0.0]], "float32")
    loss, weights = losses(classifier(), logits)
    # log(1 + e^-2), log 2, log(1 + e^-4), log(1 + e^-9)
    np.testing.assert_allclose(loss, [0.1269280, 0.6931472, 0.0181499, 0.0001234], rtol=1e-3)
    np.testing.assert_array_equal(weights, [1, 1, 1, 0])
    task = classifier(class_weights="balanced", label_smoothing=0.2)
    loss, weights = losses(task, logits)
    # 0.9 log(1 + e^-2) + 0.1 (2 + log(1 + e^-2)) in the first row
    np.testing.assert_allclose(loss[:2], [0.3269280, 0.6931472], rtol=1e-5)
    np.testing.assert_allclose(weights, [8 / 4, 8 / 12, 8 / 12, 0], rtol=1e-6)


TRUE = np.array([1, 1, 1, 0, 0, 0, 0])
GIVEN = np.array([1, 1, 0, 1, 0, 0, 0])
SCORES = np.array([0.9, 0.8, 0.3, 0.7, 0.4, 0.2, 0.1])  # of label 1


def metrics_of(task, true=TRUE, given=GIVEN, scores=SCORES):
    """Of rows whose label got the higher score, or not, as `given` says."""
    logits = np.log(np.stack([1 - scores, scores], 1))
    batch = {"label_ids": true, "weights": np.ones(len(true), "float32")}
    rows = {name: array(value) for name, value in task.per_example({"logits": logits}, batch).items()}
    counts = LabelCounts.of(true, given, 2)
    return task.metrics_from(vars(counts), rows)


def test_metrics_by_hand():
    measured = metrics_of(classifier())
    assert measured["accuracy"] == pytest.approx(5 / 7)
    assert measured["sensitivity"] == pytest.approx(2 / 3)
    assert measured["specificity"] == pytest.approx(3 / 4)
    assert measured["roc_auc"] == pytest.approx(10 / 12)  # of 3 x 4 pairs two are upside down: (0.3, 0.7), (0.3, 0.4)
    for name in ("accuracy", "sensitivity", "specificity"):
        assert 0 < measured[f"{name}_low"] < measured[name] < measured[f"{name}_high"] < 1


def test_either_label_may_be_the_positive_one():
    measured, other = metrics_of(classifier()), metrics_of(classifier(positive="noise"))
    assert other["sensitivity"] == measured["specificity"]
    assert other["specificity"] == measured["sensitivity"]
    assert other["roc_auc"] == pytest.approx(measured["roc_auc"])


def test_rows_of_one_class_have_metrics():
    measured = metrics_of(classifier(), true=np.zeros(7, int))
    assert measured["roc_auc"] == 0.5
    assert (measured["sensitivity"], measured["sensitivity_low"], measured["sensitivity_high"]) == (0, 0, 1)


def test_three_labels_need_a_stated_positive_label():
    logits = np.eye(3, dtype="float32")[[0, 1, 2, 2]]
    batch = {"label_ids": np.array([0, 1, 2, 1]), "weights": np.ones(4, "float32")}
    labels = {"targets": THREE}

    def measured(task):
        statistics, rows = task.statistics({"logits": logits}, batch), task.per_example({"logits": logits}, batch)
        return task.metrics_from(*({name: array(value) for name, value in some.items()} for some in (statistics, rows)))

    assert set(measured(classifier(**labels))) == {
        *("accuracy", "macro_precision", "macro_recall", "macro_f1", "matthews_correlation")
    }
    found = measured(classifier(positive="b", **labels))
    assert found["sensitivity"] == 0.5 and found["specificity"] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "Real"}, "expected one of noise, real, received 'Real'. Did you mean `real`"),
        ({"class_weights": {"reall": 2.0}}, "expected some of noise, real, received 'reall'. Did you mean `real`"),
    ],
)
def test_an_unknown_label(options, message):
    with pytest.raises(ConfigError, match=message) as caught:
        classifier(**options)
    assert caught.value.key in options


@pytest.mark.parametrize("model", ["tokens", "map"])
def test_depth_groups_hold_every_trainable_variable_once_head_last(model):
    task = classifier(model)
    groups = [[v.path for v in group] for group in task.depth_groups()]
    assert sorted(path for group in groups for path in group) == sorted(v.path for v in task.trainable_variables)
    assert groups[-1] == ["head/kernel", "head/bias"]


def test_in_bfloat16_the_head_and_its_outputs_are_float32():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        task = classifier()
    finally:
        keras.config.set_dtype_policy("float32")
    assert {keras.backend.standardize_dtype(value.dtype) for value in task(FEATURES).values()} == {"float32"}


@pytest.mark.parametrize(("model", "learning_rate"), [("tokens", 1e-2), ("map", 1e-3)])
def test_training_lowers_the_loss(model, learning_rate):
    keras.utils.set_random_seed(0)
    task = classifier(model)

    class Trained(keras.Model):
        def __init__(self):
            super().__init__(autocast=False)
            self.task = task

        def call(self, features):
            return self.task(features)["logits"]

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            batch = {"label_ids": y, "weights": BATCH["weights"]}
            (loss,), (weights,) = task.loss_terms({"logits": y_pred}, batch).values(), task.loss_weights(batch).values()
            return keras.ops.sum(loss * weights) / keras.ops.sum(weights)

    trained = Trained()
    trained.compile(optimizer=keras.optimizers.Adam(learning_rate), jit_compile=False)
    losses = [float(np.ravel(trained.train_on_batch(FEATURES, BATCH["label_ids"]))[0]) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]


def predictions_of(scores):
    scores = np.array(scores, "float32")
    return {"scores": np.stack([1 - scores, scores], 1), "label_ids": (scores > 0.5).astype("int32")}


VALIDATION = [0.125, 0.25, 0.5, 0.75, 0.875]
REAL = {"label_ids": np.array([0, 1, 0, 1, 1])}


def test_the_operating_point_is_chosen_on_one_set_of_rows_and_applied_to_others():
    task = classifier(specificity=1.0)
    rows = predictions_of([0.625, 0.5625, 0.9])
    assert array(task.combine([rows])["label_ids"]).tolist() == [1, 1, 1]
    point = task.choose_operating_point(predictions_of(VALIDATION), REAL, [])
    assert point.threshold == 0.625  # between 0.5, the highest of the others, and 0.75
    assert point.metrics["specificity"] == 1.0
    assert point.metrics["sensitivity"] == pytest.approx(2 / 3)
    assert array(task.combine([rows])["label_ids"]).tolist() == [1, 1, 1]  # choosing alone changes nothing
    assert array(task.combine([rows], point)["label_ids"]).tolist() == [1, 0, 1]
    together = task.combine([rows, predictions_of([0.5, 0.75, 0.9])], point)
    assert array(together["label_ids"]).tolist() == [0, 1, 1]


def test_operating_point_metrics_equal_evaluation():
    task = classifier(specificity=1.0, positive="noise")
    point = task.choose_operating_point(predictions_of(VALIDATION), REAL, [])
    given = array(task.combine([predictions_of(VALIDATION)], point)["label_ids"])
    measured = LabelCounts.of(REAL["label_ids"], given, 2).detection(task.positive_id)
    assert {name: measured[name] for name in point.metrics} == point.metrics


def test_without_a_specificity_the_highest_score_decides():
    task = classifier()
    assert not task.has_operating_point
    assert array(task.combine([predictions_of([0.4, 0.6])])["label_ids"]).tolist() == [0, 1]


def test_a_specificity_for_three_labels_needs_a_positive_label():
    with pytest.raises(ConfigError, match="there is no positive label to find") as caught:
        classifier(targets=THREE, specificity=1.0)
    assert caught.value.key == "positive"


def test_explanations_of_several_models_are_their_mean():
    attention = [np.array([[part, 1 - part]], "float32") for part in (0.25, 0.75)]
    one, other = ({**predictions_of([0.5]), "column_attention": weights} for weights in attention)
    together = classifier().combine([one, other])
    np.testing.assert_array_equal(array(together["column_attention"]), [[0.5, 0.5]])
