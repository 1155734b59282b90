"""The operating point: guarantees on the rows that it was chosen on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.errors import ConfigError
from tfattn.tasks.operating_point import choose, optimize

SCORES = np.array([0.125, 0.25, 0.5, 0.75, 0.875])
POSITIVE = np.array([False, True, False, True, True])


def test_by_hand():
    point = choose(SCORES, POSITIVE, specificity=1.0)
    assert point.threshold == 0.625  # between 0.5, the highest of the others, and 0.75
    assert point.metrics["specificity"] == 1.0
    assert point.metrics["sensitivity"] == pytest.approx(2 / 3)
    assert point.metrics["sensitivity_low"] < 2 / 3 < point.metrics["sensitivity_high"]
    half = choose(SCORES, POSITIVE, specificity=0.5)
    assert half.threshold == 0.1875
    assert half.metrics["specificity"] == 0.5 and half.metrics["sensitivity"] == 1.0


def test_a_specificity_of_0_finds_every_row():
    point = choose(SCORES, POSITIVE, specificity=0.0)
    assert point.threshold == 0.0 and point.metrics["sensitivity"] == 1.0


def test_no_threshold_is_possible_if_negatives_score_highest():
    for highest in (0.9, 1.0):
        point = choose(np.array([0.1, 0.5, highest]), np.array([True, True, False]), specificity=1.0)
        assert highest < point.threshold and point.metrics["sensitivity"] == 0.0
        assert point.metrics["specificity"] == 1.0


def test_an_exact_fraction_of_rows_is_not_rounded_up():
    scores = np.arange(1, 21) / 32
    assert choose(scores, np.arange(20) >= 10, specificity=0.7).metrics["specificity"] == pytest.approx(0.7)


def test_adjacent_float32_scores_are_distinguished():
    low = np.float32(0.7)
    high = np.nextafter(low, np.float32(1))
    point = choose(np.array([low, high]), np.array([False, True]), specificity=1.0)
    assert point.metrics["sensitivity"] == point.metrics["specificity"] == 1.0
    assert np.float32(point.threshold) == point.threshold


def test_negative_rows_are_required():
    with pytest.raises(ConfigError, match="positive and other rows"):
        choose(SCORES, np.ones(5, bool), specificity=1.0)


@given(
    st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=40),
    st.floats(0, 1),
)
def test_the_required_specificity_is_met_with_maximum_sensitivity(rows, specificity):
    scores, positive = np.array([row[0] for row in rows], "float32"), np.array([row[1] for row in rows])
    if positive.all():
        return
    point = choose(scores, positive, specificity=specificity)
    assert point.metrics["specificity"] >= specificity - 1e-9
    # A threshold at or below the next lower score of another row would break the promise.
    lower = scores[~positive & (scores < point.threshold)]
    if len(lower):
        assert np.mean(scores[~positive] < lower.max()) < specificity + 1e-9


@pytest.mark.parametrize("criterion", ["f1", "balanced_accuracy", {"false_negative": 5.0}])
def test_the_threshold_is_the_best_of_all(criterion):
    draw = np.random.default_rng(0)
    positive = draw.random(60) < 0.3
    scores = np.round(np.clip(draw.normal(loc=0.4 + 0.2 * positive, scale=0.2), 0, 1), 2).astype("float32")  # with ties

    def value(threshold):
        found = scores >= threshold
        hits, alarms = np.sum(found & positive), np.sum(found & ~positive)
        if criterion == "f1":
            return 2 * hits / (found.sum() + positive.sum())
        if criterion == "balanced_accuracy":
            return (hits / positive.sum() + np.mean(~found[~positive])) / 2
        return -(alarms + 5 * (positive.sum() - hits))

    chosen = optimize(scores, positive, criterion).threshold
    assert value(chosen) == pytest.approx(max(map(value, np.linspace(-0.005, 1.005, 102))))
    assert chosen not in scores


def test_costs_move_the_threshold():
    costs = [{"false_positive": 1.0, "false_negative": cost} for cost in (0.2, 1.0, 5.0)]
    thresholds = [optimize(SCORES, POSITIVE, cost).threshold for cost in costs]
    assert thresholds == sorted(thresholds, reverse=True) and thresholds[0] > thresholds[-1]


@pytest.mark.parametrize("positive", [np.zeros(5, bool), np.ones(5, bool)])
def test_a_threshold_needs_both_kinds_of_rows(positive):
    with pytest.raises(ConfigError, match="there are no rows to choose a threshold by"):
        optimize(SCORES, positive, "f1")
