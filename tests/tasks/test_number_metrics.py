"""Regression metrics: equal to SciPy and scikit-learn for any unit and origin."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from tfattn.tasks.number_metrics import fisher, number_metrics, spearman

DRAW = np.random.default_rng(0)
TRUE = DRAW.normal(50, 10, 200)
PREDICTED = 0.5 * TRUE + DRAW.normal(20, 5, 200)


def test_metrics_are_those_of_scipy_and_scikit_learn():
    assert number_metrics(TRUE, PREDICTED) == pytest.approx(
        {
            "mean_absolute_error": mean_absolute_error(TRUE, PREDICTED),
            "root_mean_squared_error": root_mean_squared_error(TRUE, PREDICTED),
            "r2": r2_score(TRUE, PREDICTED),
            "pearson": stats.pearsonr(TRUE, PREDICTED)[0],
        }
    )
    rounded = PREDICTED.round(-1)  # with ties
    assert spearman(TRUE, rounded) == pytest.approx(stats.spearmanr(TRUE, rounded)[0])


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e4, 1e30])
@pytest.mark.parametrize("shift", [0, -1e3, 101_325, 1.7e9])
def test_errors_scale_with_the_unit_and_correlations_are_invariant(shift, scale):
    found = number_metrics(scale * (TRUE + shift), scale * (PREDICTED + shift))
    expected = number_metrics(TRUE, PREDICTED)
    for name in ("mean_absolute_error", "root_mean_squared_error"):
        assert found[name] == pytest.approx(scale * expected[name], rel=1e-6)
    for name in ("r2", "pearson"):
        assert found[name] == pytest.approx(expected[name], abs=1e-6)


def test_constant_predictions_have_r2_0_and_correlation_0():
    metrics = number_metrics(TRUE, np.full(200, TRUE.mean()))
    assert metrics["r2"] == pytest.approx(0, abs=1e-9) and metrics["pearson"] == 0
    same = np.full(5, 0.1)  # whose computed mean is not 0.1
    assert number_metrics(same, np.arange(5.0))["r2"] == number_metrics(same, np.arange(5.0))["pearson"] == 0
    assert spearman(same, np.arange(5.0)) == 0


def test_the_interval_of_a_correlation_is_that_of_scipy():
    interval = stats.pearsonr(TRUE, PREDICTED).confidence_interval(0.95)
    assert fisher(np.corrcoef(TRUE, PREDICTED)[0, 1], 200) == pytest.approx(tuple(interval), abs=1e-6)
    assert fisher(1.0, 50) == (1.0, 1.0) and fisher(0.3, 3) == (-1.0, 1.0)
