"""The calibrator: scores of labels and of label sets, prediction sets, intervals, and the section of its options."""

import dataclasses

import numpy as np
import pytest

from tests.tasks.small_encoder import arrays, small_table_model
from tfattn import files
from tfattn.errors import ConfigError
from tfattn.tasks.calibration import Calibration, Calibrator
from tfattn.tasks.classification import Classification
from tfattn.tasks.multi_label_classification import MultiLabelClassification
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.regression import Regression

ROWS = 400
LABELS = ["leak", "noise", "fire"]
DRAW = np.random.default_rng(0)
LOGITS = DRAW.normal(scale=4.0, size=(ROWS, 3)).astype("float32")  # as high as if the labels were certain
TRUE = (LOGITS / 4 + DRAW.gumbel(size=LOGITS.shape)).argmax(axis=1)
HAS = (DRAW.random((ROWS, 3)) < 1 / (1 + np.exp(-LOGITS / 4))).astype("int32")


def _fitted(task, logits, targets, **options):
    predictions = arrays(task.combine([task.predictions({"logits": logits})]))
    calibrator = task.calibrate(predictions, targets, options=Calibration(**options), split="calibration")
    return predictions, calibrator


def test_labels():
    task = Classification(model=small_table_model(), targets={"labels": LABELS, "counts": [5, 5, 5]})
    predictions, calibrator = _fitted(task, LOGITS, {"label_ids": TRUE}, temperature=True, coverage=0.9)
    assert calibrator.temperature > 2 and calibrator.rows == ROWS and calibrator.coverage == 0.9
    found = arrays(calibrator(predictions))
    np.testing.assert_array_equal(found["uncalibrated_scores"], predictions["scores"])
    np.testing.assert_array_equal(found["scores"].argmax(axis=1), predictions["label_ids"])
    # The sets are those of the calibrated scores, and cover as many calibration rows as the rank demands.
    inside = found["in_prediction_set"]
    np.testing.assert_array_equal(inside, found["scores"] >= np.float32(calibrator.score_thresholds))
    assert inside[np.arange(ROWS), TRUE].sum() == np.ceil(0.9 * (ROWS + 1))


def test_label_sets():
    task = MultiLabelClassification(model=small_table_model(), targets={"labels": LABELS, "counts": [5] * 3, "rows": 9})
    predictions, calibrator = _fitted(task, LOGITS, {"label_indicators": HAS}, temperature=True)
    assert calibrator.temperature == pytest.approx(4.0, rel=0.25) and calibrator.rows == ROWS
    found = arrays(calibrator(predictions))
    np.testing.assert_allclose(found["scores"], 1 / (1 + np.exp(-LOGITS / calibrator.temperature)), atol=1e-5)
    point = task.choose_operating_point(found, {"label_indicators": HAS}, [], "f1")
    chosen = arrays(task.combine([found], point))["is_label"]
    np.testing.assert_array_equal(chosen, found["scores"] >= np.float32(point.threshold))


def test_a_score_that_rounds_to_1_is_calibrated():
    task = MultiLabelClassification(model=small_table_model(), targets={"labels": LABELS, "counts": [5] * 3, "rows": 9})
    logits = np.array([[17.5, 30.0, -30.0]], "float32")
    found = Calibrator(split="calibration", rows=9, temperature=5.0)(task.predictions({"logits": logits}))
    np.testing.assert_allclose(found["scores"], 1 / (1 + np.exp(-logits / 5)), rtol=1e-5)


def test_numbers():
    task = Regression(model=small_table_model(), targets={"mean": 40.0, "deviation": 10.0}, range=(0.0, 60.0))
    true = np.clip(40 + 10 * LOGITS[:, 0] + DRAW.normal(scale=5, size=ROWS), 0, 60)
    predictions, calibrator = _fitted(task, LOGITS[:, :1], {"target_values": true}, coverage=0.8)
    found = arrays(calibrator(predictions))
    assert found["interval_low"].min() == 0.0 and found["interval_high"].max() == 60.0
    inside = (found["interval_low"] <= true) & (true <= found["interval_high"])
    assert inside.sum() == np.ceil(0.8 * (ROWS + 1))


def test_the_operating_point_is_a_threshold_of_calibrated_scores():
    targets = {"labels": LABELS[:2], "counts": [5, 5]}
    task = Classification(model=small_table_model(), targets=targets, positive="noise")
    calibrator = Calibrator(split="calibration", rows=9, temperature=2.0)
    calibrated = calibrator(task.combine([{"scores": np.array([[0.1, 0.9]], "float32"), "label_ids": np.array([1])}]))
    assert float(calibrated["scores"][0, 1]) == pytest.approx(0.75)
    for threshold, label in ((0.7, 1), (0.8, 0)):
        assert task.combine([calibrated], OperatingPoint(threshold))["label_ids"][0] == label


def test_a_calibrator_is_read_as_it_was_written(tmp_path):
    calibrator = Calibrator(split="calibration", rows=9, coverage=0.9, radius=0.1, bounds=(0.0, 5.0))
    files.write_json(tmp_path / "calibrator.json", dataclasses.asdict(calibrator))
    assert files.read_json(tmp_path / "calibrator.json", Calibrator) == calibrator


def test_a_section_that_calibrates_nothing():
    with pytest.raises(ConfigError, match="nothing is calibrated.*expected temperature: true, a threshold or a"):
        Calibration()
    assert Calibration(coverage=0.9, by_class=True).used == ("coverage", "by_class")
