"""Regression: losses in standard deviations, predictions and metrics in the unit of the file."""

import keras
import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from tests.tasks.small_encoder import small_table_model
from tfattn.errors import ConfigError
from tfattn.tasks.regression import Regression

TARGETS = {"mean": 40.0, "deviation": 10.0}
LOGITS = np.array([[0.5], [-1.0], [2.0], [9.0]], "float32")
BATCH = {
    "target_values": np.array([40.0, 30.0, 35.0, 0.0], "float32"),  # errors of 0.5, 0 and 2.5 deviations
    "weights": np.array([1, 1, 1, 0], "float32"),
}


def task(loss="mean_squared_error"):
    return Regression(model=small_table_model(), targets=TARGETS, loss=loss)


def bounded_task(*bounds):
    targets = TARGETS | {"low": 0, "high": 50}
    return Regression(model=small_table_model(), targets=targets, loss="huber", range=bounds)


def array(value):
    return keras.ops.convert_to_numpy(value)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("mean_squared_error", [0.25, 0, 6.25]),
        ("mean_absolute_error", [0.5, 0, 2.5]),
        ("huber", [0.125, 0, 2.0]),
    ],
)
def test_losses_by_hand(loss, expected):
    (losses,) = task(loss).loss_terms({"logits": LOGITS}, BATCH).values()
    np.testing.assert_allclose(array(losses)[:3], expected, rtol=1e-6)
    assert task(loss).loss_names == (loss,)


def test_predictions_are_in_the_unit_of_the_file():
    np.testing.assert_allclose(array(task().predictions({"logits": LOGITS})["predictions"]), [45, 30, 60, 130])


def test_predictions_are_clipped_to_the_range_but_the_loss_is_not():
    bounded = bounded_task(0.0, 50.0)
    np.testing.assert_allclose(array(bounded.predictions({"logits": LOGITS})["predictions"]), [45, 30, 50, 50])
    losses = [array(some.loss_terms({"logits": LOGITS}, BATCH)["huber"]) for some in (bounded, task("huber"))]
    np.testing.assert_array_equal(*losses)


@pytest.mark.parametrize(
    ("bounds", "message"), [((5.0, 5.0), "the range is empty"), ((0.0, 5.0), "includes 0 and 50.*received \\[0.0, 5.0")]
)
def test_a_range_that_is_empty_or_excludes_training_targets_is_refused(bounds, message):
    with pytest.raises(ConfigError, match=message):
        bounded_task(*bounds)


def test_several_models_predict_the_mean():
    some = [{"predictions": np.array(values, "float32")} for values in ([1.0, 2.0], [3.0, 8.0])]
    np.testing.assert_array_equal(array(task().combine(some)["predictions"]), [2, 5])


@pytest.mark.parametrize("shift", [0, 1e4, 2**22])  # at the last, float32 holds halves
def test_metrics_equal_scikit_learn_for_any_range(shift):
    some = Regression(model=small_table_model(), targets={"mean": 40.0 + shift, "deviation": 10.0})
    batch = {**BATCH, "target_values": BATCH["target_values"].astype("float64") + shift}
    rows = {name: array(value)[:3] for name, value in some.per_example({"logits": LOGITS}, batch).items()}
    true, predicted = np.array([40.0, 30.0, 35.0]), np.array([45.0, 30.0, 60.0])
    assert some.metrics_from(some.statistics({"logits": LOGITS}, batch), rows) == pytest.approx(
        {
            "mean_absolute_error": mean_absolute_error(true, predicted),
            "root_mean_squared_error": root_mean_squared_error(true, predicted),
            "r2": r2_score(true, predicted),
            "pearson": np.corrcoef(true, predicted)[0, 1],
            "spearman": 0.5,  # of the ranks 3, 1, 2 and 2, 1, 3
        },
        rel=1e-5,
    )
