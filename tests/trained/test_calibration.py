"""Calibration of runs: the rows that calibrate, the mean of an ensemble, and the files of a run."""

import numpy as np
import pytest

from tfattn import files
from tfattn.errors import DataError
from tfattn.runs.identity import data_id, evaluation_inputs, export_inputs
from tfattn.tasks.calibration import Calibrator
from tfattn.tasks.conformal import score_thresholds
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.temperature import fit_temperature, scale
from tfattn.trained.calibration import calibrate, calibration_split
from tfattn.trained.ensemble import CALIBRATOR, OPERATING_POINT, load
from tfattn.trained.predictions import predict_split

SECTION = "calibration={temperature: true, coverage: 0.7}"
KEPT_ASIDE = "data.split={validation: 0.2, test: 0.25, calibration: 0.25}"


def test_the_mean_of_all_models_is_calibrated_on_rows_kept_aside(open_run):
    run = open_run(SECTION, KEPT_ASIDE, "ensemble={seeds: 2}", "task.specificity=null")
    ensemble = load(run)
    mean = predict_split(run, ensemble, "calibration")
    calibrate(run, ensemble)
    fitted = ensemble.calibrator
    assert (fitted.split, fitted.rows) == ("calibration", 6) and calibration_split(run) == "calibration"
    scores, true = mean.values["scores"], mean.targets["label_ids"]
    assert fitted.temperature == fit_temperature(scores, true)
    scaled = np.asarray(scale(scores, fitted.temperature))
    assert fitted.score_thresholds == score_thresholds(scaled, true, coverage=0.7, labels=["a", "b"])
    test = predict_split(run, ensemble, "test").values
    np.testing.assert_allclose(test["scores"], scale(test["uncalibrated_scores"], fitted.temperature), rtol=1e-6)
    # A new process has the same calibrator, and calibrates equally.
    assert load(run).calibrator == files.read_json(run.folder / CALIBRATOR, Calibrator) == fitted
    calibrate(run, ensemble)
    assert ensemble.calibrator == fitted


def test_validation_rows_calibrate_if_test_rows_measure(open_run):
    run = open_run(SECTION, "data.split={validation: 0.25, test: 0.25}", "ensemble=null", "task.specificity=null")
    ensemble = load(run)
    calibrate(run, ensemble)
    assert ensemble.calibrator.split == calibration_split(run) == "validation"


def test_a_threshold_is_one_of_calibrated_scores(open_run):
    section = "calibration={temperature: true, threshold: balanced_accuracy}"
    run = open_run(section, KEPT_ASIDE, "ensemble=null", "task.specificity=null")
    ensemble = load(run)
    calibrate(run, ensemble)
    assert ensemble.operating_point.split == "calibration" and ensemble.calibrator.coverage is None
    rows = predict_split(run, ensemble, "calibration")
    found = rows.values["scores"][:, 1] >= np.float32(ensemble.operating_point.threshold)
    np.testing.assert_array_equal(found, rows.values["label_ids"])
    expected = np.mean(found[rows.targets["label_ids"] == 1])
    assert ensemble.operating_point.metrics["sensitivity"] == pytest.approx(expected)


def test_all_folds_calibrate_on_the_same_rows(open_run):
    run = open_run(SECTION, KEPT_ASIDE, "ensemble={folds: 2}", "task.specificity=null")
    ensemble = load(run)
    calibrate(run, ensemble)
    rows = {row["row"] for row in run.members[0].rows("calibration")}
    assert ensemble.calibrator.rows == len(rows) == 6
    for member in run.members:
        assert {row["row"] for row in member.rows("calibration")} == rows
        assert not rows & {row["row"] for row in member.rows("validation")}


def test_too_few_rows_leave_no_calibrator(open_run):
    run = open_run("calibration={coverage: 0.9}", KEPT_ASIDE, "ensemble=null", "task.specificity=null")
    with pytest.raises(DataError, match="too few calibration rows for a coverage of 0.9.*at least 9, received 6"):
        calibrate(run, load(run))
    assert not (run.folder / CALIBRATOR).exists()


def test_the_section_changes_evaluation_and_export_only(open_run):
    plain = open_run(KEPT_ASIDE, "ensemble=null")
    one, other = (open_run(KEPT_ASIDE, "ensemble=null", f"calibration={{coverage: {of}}}") for of in (0.5, 0.7))
    assert plain.id == one.id == other.id
    for inputs in (evaluation_inputs, export_inputs):
        assert len({str(inputs(run.config, ["weights"])) for run in (plain, one, other)}) == 3
    without = open_run("data.split={validation: 0.2, test: 0.25}", "ensemble=null")
    assert data_id(without.config, without.fingerprints) != data_id(plain.config, plain.fingerprints)


def test_the_operating_point_is_saved_with_the_run(open_run):
    run = open_run("ensemble=null", "task.specificity=0.8")
    ensemble = load(run)
    assert ensemble.operating_point is None
    calibrate(run, ensemble)
    point = files.read_json(run.folder / OPERATING_POINT, OperatingPoint)
    assert point == ensemble.operating_point == load(run).operating_point
    predicted = predict_split(run, ensemble, "validation")
    np.testing.assert_array_equal(
        predicted.values["label_ids"], predicted.values["scores"][:, 1] >= np.float32(point.threshold)
    )
    calibrate(run, ensemble)  # as if none had been chosen before
    assert ensemble.operating_point == point


def test_a_task_without_an_operating_point_saves_none(open_run):
    run = open_run("ensemble=null", "task.specificity=null")
    ensemble = load(run)
    calibrate(run, ensemble)
    assert ensemble.operating_point is None and not (run.folder / OPERATING_POINT).exists()
