"""Split conformal prediction: exact ranks, and the coverage of exchangeable rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from tfattn.errors import DataError
from tfattn.tasks.conformal import interval_radius, needed_rows, rank, score_thresholds

LABELS = ["a", "b", "c"]


def test_by_hand():
    # Nine errors of 1 to 9: of ten exchangeable rows, the new row has the largest error with a probability of 0.1.
    errors = np.arange(1.0, 10.0)
    assert interval_radius(np.zeros(9), -errors, coverage=0.9) == 9.0
    assert interval_radius(np.zeros(9), errors, coverage=0.8) == 8.0
    scores = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    assert score_thresholds(scores, np.array([0, 1, 1]), coverage=0.5, labels=LABELS) == [0.7] * 3
    assert score_thresholds(scores, np.array([0, 1, 1]), coverage=0.75, labels=LABELS) == [0.3] * 3


@given(st.integers(1, 2000), st.integers(1, 99))
def test_the_rank_is_that_of_exact_fractions(rows, percent):
    assert rank(rows, percent / 100) == -(-(rows + 1) * percent // 100)
    assert (rank(rows, percent / 100) <= rows) == (rows >= needed_rows(percent / 100))


def test_needed_rows():
    assert [needed_rows(coverage) for coverage in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    assert needed_rows(0.9) == math.ceil(1 / 0.1) - 1


def test_too_few_rows():
    with pytest.raises(DataError, match="too few calibration rows for a coverage of 0.9.*at least 9, received 8"):
        interval_radius(np.zeros(8), np.ones(8), coverage=0.9)
    scores = np.full((12, 3), 1 / 3)
    with pytest.raises(DataError, match="too few calibration rows of the label 'b'.*at least 9, received 2"):
        score_thresholds(scores, np.array([0] * 10 + [1] * 2), coverage=0.9, labels=LABELS[:2] + ["c"], by_class=True)


def _draw(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores that are wrong about their labels: overconfident, and worse for rare labels."""
    draw = np.random.default_rng(seed)
    true = draw.choice(3, size=rows, p=[0.6, 0.3, 0.1])
    logits = draw.normal(size=(rows, 3)) + 2.0 * np.eye(3)[true] * np.array([1.5, 1.0, 0.5])[true, None]
    weights = np.exp(2 * logits)
    return weights / weights.sum(axis=1, keepdims=True), true


@pytest.mark.parametrize("coverage", [0.6, 0.9, 0.95])
def test_coverage_of_exchangeable_rows(coverage):
    # One new row for each draw of calibration rows: the number of covered rows is binomial.
    draws, rows = 2000, 60
    covered = sets = 0
    for seed in range(draws):
        scores, true = _draw(seed, rows + 1)
        thresholds = score_thresholds(scores[:-1], true[:-1], coverage=coverage, labels=LABELS)
        covered += bool(scores[-1, true[-1]] >= thresholds[0])
        draw = np.random.default_rng(seed)
        predicted, numbers = draw.normal(size=rows + 1), draw.standard_t(df=3, size=rows + 1)
        radius = interval_radius(predicted[:-1], numbers[:-1], coverage=coverage)
        sets += bool(abs(predicted[-1] - numbers[-1]) <= radius)
    expected = rank(rows, coverage) / (rows + 1)  # exact for scores without ties
    low, high = binom.interval(0.999, draws, expected)
    assert low <= covered <= high and low <= sets <= high
    assert coverage <= expected < coverage + 1 / (rows + 1)


def test_coverage_of_each_label():
    calibration, new = _draw(1, 20_000), _draw(2, 20_000)
    for by_class in (False, True):
        thresholds = np.array(score_thresholds(*calibration, coverage=0.9, labels=LABELS, by_class=by_class))
        inside = (new[0] >= thresholds)[np.arange(len(new[1])), new[1]]
        of_labels = [inside[new[1] == label].mean() for label in range(3)]
        if by_class:
            np.testing.assert_allclose(of_labels, 0.9, atol=0.03)
        else:
            assert of_labels[0] > 0.93 > 0.85 > of_labels[2]  # marginal coverage: rare labels are covered less often


@given(st.integers(0, 50), st.lists(st.floats(0.1, 0.98), min_size=2, max_size=2).map(sorted))
def test_sets_and_intervals_grow_with_the_coverage(seed, requested):
    scores, true = _draw(seed, 80)
    lower, higher = (score_thresholds(scores, true, coverage=coverage, labels=LABELS) for coverage in requested)
    assert lower[0] >= higher[0]
    predicted = scores[:, 0]
    small, large = (interval_radius(predicted, true, coverage=coverage) for coverage in requested)
    assert small <= large
