"""Sampled Shapley values: exact for linear models, and within their intervals for others."""

import itertools
import math

import numpy as np
import pytest

from tfattn.evaluation.shapley import shapley_values

RNG = np.random.default_rng(0)
WEIGHTS, BACKGROUND, ROW = RNG.normal(size=5), RNG.normal(size=(20, 5)), RNG.normal(size=5)


def linear(x):
    return x @ WEIGHTS


def curved(x):
    return np.tanh(x @ WEIGHTS) + x[:, 0] * x[:, 1]


def on(model, row=ROW, background=BACKGROUND):
    return lambda present, drawn: model(np.where(present, row, background[drawn]))


def exact(model):
    """Shapley 1953, by all coalitions of the columns."""
    size, values = len(ROW), np.zeros(len(ROW))

    def mean_score(columns):
        present = np.isin(np.arange(size), columns)
        return model(np.where(present, ROW, BACKGROUND)).mean()

    for column in range(size):
        others = [other for other in range(size) if other != column]
        for count in range(size):
            share = math.factorial(count) * math.factorial(size - count - 1) / math.factorial(size)
            for chosen in itertools.combinations(others, count):
                values[column] += share * (mean_score([*chosen, column]) - mean_score(chosen))
    return values


def test_values_of_a_linear_model_are_its_weights_times_the_distance_to_the_mean():
    found = shapley_values(on(linear), 5, samples=20, num_backgrounds=20)
    np.testing.assert_allclose(found.values, WEIGHTS * (ROW - BACKGROUND.mean(axis=0)), atol=1e-12)


@pytest.mark.parametrize("model", [linear, curved])
@pytest.mark.parametrize("samples", [2, 7, 60])
def test_values_sum_to_the_score_minus_the_mean_score(model, samples):
    found = shapley_values(on(model), 5, samples=samples, num_backgrounds=20)
    assert found.values.sum() == pytest.approx(found.score - found.base, abs=1e-12)
    assert found.score == pytest.approx(model(ROW[None])[0])
    if samples % 20 == 0:  # each background row is used equally often
        assert found.base == pytest.approx(model(BACKGROUND).mean())


def test_exact_values_are_in_the_intervals():
    expected = exact(curved)
    found = [shapley_values(on(curved), 5, samples=40, num_backgrounds=20, seed=seed) for seed in range(40)]
    inside = np.mean([(each.low <= expected) & (expected <= each.high) for each in found])
    assert inside >= 0.93
    assert np.abs(np.mean([each.values for each in found], axis=0) - expected).max() < 0.02


def test_more_samples_are_more_precise():
    widths = [
        np.mean(found.high - found.low)
        for found in (shapley_values(on(curved), 5, samples=samples, num_backgrounds=20) for samples in (10, 160))
    ]
    assert widths[1] < widths[0] / 2


def test_a_unit_without_effect_has_no_value_and_equal_units_have_equal_values():
    found = shapley_values(lambda present, _: present[:, 0] * present[:, 1] * 1.0, 3, samples=200)
    assert found.values[2] == found.low[2] == found.high[2] == 0
    np.testing.assert_allclose(found.values[:2], 0.5)


def test_a_coalition_is_scored_once():
    seen = []

    def score(present, drawn):
        seen.extend(map(tuple, present))
        return present.sum(axis=1) * 1.0

    found = shapley_values(score, 3, samples=50)
    assert len(seen) == len(set(seen)) == found.evaluations == 2**3


def test_a_single_unit_has_the_whole_difference():
    found = shapley_values(lambda present, _: present[:, 0] * 0.75 + 0.25, 1, samples=2)
    assert found.values.tolist() == [0.75] and (found.base, found.score) == (0.25, 1.0)


def test_values_agree_with_the_package_shap():
    shap = pytest.importorskip("shap", reason="needs shap: pip install shap")
    independent = shap.maskers.Independent(BACKGROUND, len(BACKGROUND))
    expected = shap.LinearExplainer((WEIGHTS, 0.0), independent).shap_values(ROW[None])[0]
    found = shapley_values(on(linear), 5, samples=20, num_backgrounds=20)
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    expected = shap.ExactExplainer(curved, independent)(ROW[None]).values[0]
    np.testing.assert_allclose(exact(curved), expected, atol=1e-9)
