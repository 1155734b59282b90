"""Calibration in reports: metrics by hand, sections, and the lines of predictions."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta

from tfattn.evaluation import calibration_sections
from tfattn.evaluation.metrics import brier_score, calibration, calibration_error, log_loss
from tfattn.evaluation.report import Table, Text
from tfattn.tasks.calibration import Calibrator

LABELS = ("no", "<b>yes</b>", "never")
TRUE = np.array([0, 0, 1, 1, 1])
SCORES = np.array([[0.8, 0.1, 0.1], [0.4, 0.5, 0.1], [0.1, 0.7, 0.2], [0.4, 0.35, 0.25], [0.6, 0.2, 0.2]])
INSIDE = SCORES >= 0.45
BEFORE = SCORES**2 / (SCORES**2).sum(axis=1, keepdims=True)
FITTED = Calibrator(split="calibration", rows=99, temperature=2.0, coverage=0.9, score_thresholds=[0.45] * 3)


def ensemble(calibrator):
    return SimpleNamespace(labels=LABELS, calibrator=calibrator)


def groups(scores):
    return calibration(scores.max(axis=1), scores.argmax(axis=1) == TRUE)


def of_labels(predictions, calibrator=FITTED, **values):
    found = {"scores": SCORES, "uncalibrated_scores": BEFORE, "in_prediction_set": INSIDE} | values
    given = predictions(rows=[{"row": "t.csv:2"}] * 5, values=found, targets={"label_ids": TRUE})
    return calibration_sections.of_labels(ensemble(calibrator), given, TRUE, groups=groups, unit="row")


def words(section):
    return " ".join(part.text for part in section.parts if isinstance(part, Text))


def test_metrics_before_and_after(predictions):
    metrics = of_labels(predictions).metrics
    for end, scores in (("", SCORES), ("_uncalibrated", BEFORE)):
        assert metrics[f"calibration_error{end}"] == calibration_error(groups(scores))
        assert metrics[f"log_loss{end}"] == log_loss(TRUE, scores)
        assert metrics[f"brier_score{end}"] == brier_score(TRUE, scores)
    assert metrics["temperature"] == 2.0


def test_coverage_by_label_and_size(predictions):
    found = of_labels(predictions)
    metrics = found.metrics
    assert (metrics["coverage"], metrics["requested_coverage"]) == (0.4, 0.9)
    assert metrics["coverage_low"] < 0.4 < metrics["coverage_high"]
    assert metrics["coverage/no"] == 0.5 and metrics["coverage/<b>yes</b>"] == pytest.approx(1 / 3)
    assert "coverage/never" not in metrics  # no row has the label
    assert (metrics["set_size"], metrics["singletons"], metrics["empty_sets"]) == (0.8, 0.8, 0.2)
    scaled, sets = found.sections
    assert (scaled.title, sets.title) == ("Temperature scaling", "Prediction sets")
    by_label, by_size = (part for part in sets.parts if isinstance(part, Table))
    assert [row[:3] for row in by_label.rows] == [["no", 2, "50.0%"], ["<b>yes</b>", 3, "33.3%"]]
    assert [[row[0], row[1], row[4]] for row in by_size.rows] == [[0, 1, "20.0%"], [1, 4, "80.0%"]]
    assert "20.0% are empty" in words(sets) and "90% were requested" in words(sets)
    low, high = beta.interval(0.95, 90, 10)  # of 99 rows, 90 are covered
    assert f"between {low:.1%} and {high:.1%} for 95% of such samples" in words(sets)


def test_the_temperature_is_explained(predictions):
    texts = {
        temperature: words(
            of_labels(predictions, Calibrator(split="calibration", rows=9, temperature=temperature)).sections[0]
        )
        for temperature in (0.5, 1.0, 2.0)
    }
    assert "raises high scores" in texts[0.5] and "lowers high scores" in texts[2.0]
    assert "The scores are unchanged: all of the 9 calibration rows are predicted correctly" in texts[1.0]


def test_sets_by_class_make_no_statement_about_all_rows(predictions):
    fitted = Calibrator(split="calibration", rows=99, coverage=0.9, by_class=True, score_thresholds=[0.45] * 3)
    sets = of_labels(predictions, fitted).sections[-1]
    assert "such samples" not in words(sets) and "holds for the rows of each label" in words(sets)


def test_lines_have_the_labels_of_the_set_the_highest_score_first(predictions):
    found = of_labels(predictions, in_prediction_set=SCORES >= 0.2)
    lines = list(found.lines({"row": number} for number in range(5)))
    assert lines[3] == {"row": 3, "prediction_set": ["no", "<b>yes</b>", "never"]}
    assert lines[1] == {"row": 1, "prediction_set": ["<b>yes</b>", "no"]}


def test_a_model_without_calibration_has_no_section(predictions):
    found = of_labels(predictions, None)
    assert not found.metrics and not found.sections and list(found.lines([{"a": 1}])) == [{"a": 1}]


def test_intervals(predictions):
    true = np.arange(8.0)
    values = {"predictions": true + 1, "interval_low": true + 0.5, "interval_high": true + 2.5}
    values["interval_low"][:6] = -1
    fitted = Calibrator(split="validation", rows=9, coverage=0.5, radius=1.0)
    given = predictions(rows=[{"row": "t.csv:2"}] * 8, values=values, targets={"target_values": true})
    found = calibration_sections.of_numbers(ensemble(fitted), given, true, unit="text")
    assert found.metrics["coverage"] == 0.75 and found.metrics["requested_coverage"] == 0.5
    assert found.metrics["interval_width"] == np.mean(values["interval_high"] - values["interval_low"])
    (section,) = found.sections
    (table,) = (part for part in section.parts if isinstance(part, Table))
    assert [row[1:3] for row in table.rows] == [[2, "100.0%"]] * 3 + [[2, "0.0%"]]
    assert "Calibrated on 9 validation texts" in words(section)
    assert list(found.lines([{}] * 8))[7] == {"interval_low": 7.5, "interval_high": 9.5}
