"""Metrics of numbers: sums that add up, correlations as SciPy has them, intervals by hand."""

import numpy as np
import pytest
from scipy import stats

from tfattn.tasks.number_metrics import NumberSums, fisher, spearman

DRAW = np.random.default_rng(0)
TRUE = DRAW.normal(50, 10, 200)
PREDICTED = 0.5 * TRUE + DRAW.normal(20, 5, 200)


def test_sums_of_parts_are_the_sums_of_the_whole():
    first, second, whole = (
        vars(NumberSums.of(TRUE[some], PREDICTED[some])) for some in (slice(0, 70), slice(70, None), slice(None))
    )
    assert {name: first[name] + second[name] for name in first} == pytest.approx(whole)


def test_correlations_are_those_of_scipy():
    assert NumberSums.of(TRUE, PREDICTED).metrics()["pearson"] == pytest.approx(stats.pearsonr(TRUE, PREDICTED)[0])
    rounded = PREDICTED.round(-1)  # with ties
    assert spearman(TRUE, rounded) == pytest.approx(stats.spearmanr(TRUE, rounded)[0])


def test_predicting_the_mean_explains_nothing_and_what_never_varies_correlates_with_nothing():
    metrics = NumberSums.of(TRUE, np.full(200, TRUE.mean())).metrics()
    assert metrics["r2"] == pytest.approx(0, abs=1e-9) and abs(metrics["pearson"]) < 1e-6
    same = NumberSums.of(np.full(5, 3.0), np.arange(5.0)).metrics()
    assert same["r2"] == same["pearson"] == 0 == spearman(np.full(5, 3.0), np.arange(5.0))


def test_the_interval_of_a_correlation_is_that_of_scipy():
    interval = stats.pearsonr(TRUE, PREDICTED).confidence_interval(0.95)
    assert fisher(np.corrcoef(TRUE, PREDICTED)[0, 1], 200) == pytest.approx(tuple(interval), abs=1e-6)
    assert fisher(1.0, 50) == (1.0, 1.0) and fisher(0.3, 3) == (-1.0, 1.0)
