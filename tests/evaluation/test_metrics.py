import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.metrics import log_loss as sklearn_log_loss

from tfattn.evaluation import metrics

LABELS = ["Leak", "Mechanical Failure", "Software Failure"]
# Leak: 3 rows, 2 found, 2 given. Mechanical: 3 rows, 2 found, 4 given. Software: 1 row, never given.
TRUE = np.array([0, 0, 0, 1, 1, 1, 2])
GIVEN = np.array([0, 0, 1, 1, 1, 0, 1])


def test_a_hand_computed_example():
    found = metrics.classification(TRUE, GIVEN, LABELS)
    assert found["accuracy"] == pytest.approx(4 / 7)
    assert found["baseline_accuracy"] == pytest.approx(3 / 7)
    assert found["precision/Leak"] == pytest.approx(2 / 3)
    assert found["recall/Leak"] == pytest.approx(2 / 3)
    assert found["precision/Mechanical Failure"] == pytest.approx(2 / 4)
    assert found["recall/Mechanical Failure"] == pytest.approx(2 / 3)
    assert found["f1/Mechanical Failure"] == pytest.approx(4 / 7)  # 2 * (1/2 * 2/3) / (1/2 + 2/3)
    assert found["f1/Software Failure"] == 0.0
    assert found["macro_f1"] == pytest.approx((2 / 3 + 4 / 7 + 0) / 3)
    assert found["support/Software Failure"] == 1


def test_a_label_without_rows_scores_0_without_a_warning(recwarn):
    found = metrics.classification(np.array([0, 1]), np.array([0, 1]), [*LABELS])
    assert found["f1/Software Failure"] == 0.0 and found["support/Software Failure"] == 0
    assert not recwarn.list


def test_confusions_count_rows_by_true_and_predicted_label():
    counts = metrics.confusions(TRUE, GIVEN, 3)
    assert counts.tolist() == [[2, 1, 0], [1, 2, 0], [0, 1, 0]]


def test_calibrated_predictions_are_on_the_diagonal():
    confidence = np.repeat([0.55, 0.95], [100, 100])
    right = np.concatenate([np.arange(100) < 55, np.arange(100) < 95])
    groups = metrics.calibration(confidence, right)
    assert [rows for rows, _, _ in groups] == [100, 100]
    assert metrics.calibration_error(groups) == pytest.approx(0.0, abs=1e-12)


def test_calibration_error_of_confident_errors_is_1():
    groups = metrics.calibration(np.ones(4), np.array([True, True, False, False]))
    assert metrics.calibration_error(groups) == pytest.approx(0.5)


def test_detection_by_hand():
    positive, found = np.array([True, True, False, False]), np.array([True, False, True, False])
    figures = metrics.detection(positive, found, np.array([0.9, 0.4, 0.6, 0.1]))
    assert figures["sensitivity"] == figures["specificity"] == 0.5
    assert figures["roc_auc"] == 0.75 and figures["average_precision"] == pytest.approx((1 + 2 / 3) / 2)


def test_the_interval_of_a_roc_auc_is_symmetric_and_has_width_at_1():
    low, high = metrics.area_interval(1.0, 138, 62)
    assert 0.95 < low < 0.99 and high == 1.0
    assert metrics.area_interval(0.0, 138, 62) == pytest.approx((0.0, 1 - low))
    assert metrics.area_interval(0.3, 5, 9) == pytest.approx(
        tuple(1 - end for end in metrics.area_interval(0.7, 9, 5))[::-1]
    )


@given(st.integers(1, 50), st.integers(1, 50), st.floats(0, 1))
def test_the_interval_of_a_roc_auc_contains_it(positives, others, share):
    area = round(share * positives * others) / (positives * others)
    low, high = metrics.area_interval(area, positives, others)
    assert 0 <= low <= area + 1e-9 and area - 1e-9 <= high <= 1 and low < high


@pytest.mark.parametrize("distance", [1.0, 3.0])
def test_the_interval_of_a_roc_auc_has_its_nominal_coverage(distance):
    draw = np.random.default_rng(0)
    truth = (1 + math.erf(distance / 2)) / 2  # of two normal distributions so many deviations apart
    positive = np.arange(60) < 40
    held = []
    for _ in range(400):
        figures = metrics.detection(positive, positive, draw.normal(size=60) + distance * positive)
        held.append(figures["roc_auc_low"] <= truth <= figures["roc_auc_high"])
    assert 0.92 <= np.mean(held) <= 0.995


def test_baseline_labels_maximize_micro_f1():
    true = np.array([[1, 0], [1, 0], [1, 1], [0, 0]], bool)
    # The first label alone: 3 of 4 given right, of 4 that there are. Both: 4 of 8, of 4.
    assert metrics.multi_label(true, true, true.astype(float), ["a", "b"])["baseline_micro_f1"] == pytest.approx(6 / 8)


def test_a_label_without_rows_scores_0():
    true = np.array([[1, 0], [0, 0]], bool)
    found = metrics.multi_label(true, true, true.astype(float), ["a", "b"])
    assert found["average_precision/b"] == found["f1/b"] == found["support/b"] == 0 and found["f1/a"] == 1


def test_regression_intervals_contain_the_metric_and_narrow_with_rows():
    draw = np.random.default_rng(0)
    true = draw.normal(40, 10, 4000)
    predicted = true + draw.normal(0, 5, 4000)
    few, many = (metrics.regression(true[:rows], predicted[:rows], guess=40.0) for rows in (100, 4000))
    for name in ("mean_absolute_error", "root_mean_squared_error", "r2", "pearson", "spearman"):
        widths = [found[f"{name}_high"] - found[f"{name}_low"] for found in (few, many)]
        assert few[f"{name}_low"] < few[name] < few[f"{name}_high"] and 3 < widths[0] / widths[1] < 15
    assert many["mean_absolute_error"] == pytest.approx(5 * np.sqrt(2 / np.pi), rel=0.05)
    assert many["baseline_root_mean_squared_error"] == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(("shift", "scale"), [(1.7e9, 1), (101_325, 1e-3), (-5, 1e6)])
def test_regression_metrics_are_shift_invariant_and_scale_with_the_unit(shift, scale):
    draw = np.random.default_rng(0)
    true = draw.normal(40, 10, 50)
    predicted = true + draw.normal(0, 5, 50)
    expected = metrics.regression(true, predicted, guess=41.0)
    found = metrics.regression(scale * (true + shift), scale * (predicted + shift), guess=scale * (41.0 + shift))
    assert found == pytest.approx(
        {name: value * (scale if "_error" in name else 1) for name, value in expected.items()}, rel=1e-5
    )


@pytest.mark.parametrize("shift", [0, 30, -1000])
def test_log_loss_equals_scikit_learn_and_is_invariant_to_logit_shifts(shift):
    draw = np.random.default_rng(0)
    logits, true = draw.normal(size=(50, 4)), draw.integers(0, 4, 50)
    scores = softmax(logits + shift, axis=1)
    assert metrics.log_loss(true, scores) == pytest.approx(sklearn_log_loss(true, softmax(logits, axis=1)))
    sets = draw.random((50, 4)) < 0.5
    of_labels = [sklearn_log_loss(has, own, labels=[0, 1]) for has, own in zip(sets.T, scores.T, strict=True)]
    assert metrics.log_loss(sets, scores) == pytest.approx(np.mean(of_labels))
    assert np.isfinite(metrics.log_loss(np.array([0]), np.array([[0.0, 1.0]])))


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1), (0, 1e-6), (-3, 1e6)])
def test_rank_metrics_are_invariant_to_shift_and_scale_of_scores(shift, scale):
    draw = np.random.default_rng(0)
    true = draw.random((50, 3)) < 0.3
    scores = draw.random((50, 3)).round(3)
    moved = scale * (scores + shift)
    positive = true[:, 0]
    assert metrics.detection(positive, positive, moved[:, 0]) == metrics.detection(positive, positive, scores[:, 0])
    expected = metrics.multi_label(true, true, scores, ["a", "b", "c"])
    assert metrics.multi_label(true, true, moved, ["a", "b", "c"]) == pytest.approx(expected)
