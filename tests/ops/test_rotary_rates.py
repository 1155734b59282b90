"""Scaled angles: the formulas of the papers, at their ends and in between."""

import math

import numpy as np
import pytest

from tfattn.ops.rotary_rates import scaled_rates, wave_rates

WIDTH, BASE, LENGTH = 64, 10000.0, 128
PLAIN = np.array(wave_rates(WIDTH, BASE))
TURNS = PLAIN * LENGTH / (2 * math.pi)  # of each wave in the original length


def test_plain_rates_by_hand():
    np.testing.assert_allclose(wave_rates(6, 1000.0), [1.0, 0.1, 0.01])
    np.testing.assert_allclose(wave_rates(3, 1000.0), [1.0, 0.01])


def test_linear_scaling_divides_all_rates():
    np.testing.assert_allclose(scaled_rates(WIDTH, BASE, {"name": "linear", "factor": 4.0}), PLAIN / 4)


def test_factors_divide_each_rate():
    factors = np.linspace(1.0, 9.0, WIDTH // 2)
    scaled = scaled_rates(WIDTH, BASE, {"name": "factors", "factors": factors.tolist()})
    np.testing.assert_allclose(scaled, PLAIN / factors)


@pytest.mark.parametrize(("low", "high"), [(1.0, 4.0), (2.0, 2.0)])
def test_llama3_stretches_long_waves_only(low, high):
    numbers = {"low_frequency_factor": low, "high_frequency_factor": high, "original_length": LENGTH}
    scaled = np.array(scaled_rates(WIDTH, BASE, {"name": "llama3", "factor": 8.0, **numbers}))
    np.testing.assert_allclose(scaled[high < TURNS], PLAIN[high < TURNS])
    np.testing.assert_allclose(scaled[low > TURNS], PLAIN[low > TURNS] / 8)
    between = (low < TURNS) & (high > TURNS)
    kept = (TURNS[between] - low) / max(high - low, 1e-9)
    np.testing.assert_allclose(scaled[between], PLAIN[between] * (kept + (1 - kept) / 8))
    assert (high < TURNS).any() and (low > TURNS).any() and (between.any() or low == high)


@pytest.mark.parametrize("truncate", [True, False])
def test_yarn_stretches_waves_with_few_turns(truncate):
    numbers = {"original_length": LENGTH, "beta_fast": 8.0, "beta_slow": 1.0, "attention_factor": 1.2}
    scaled = np.array(scaled_rates(WIDTH, BASE, {"name": "yarn", "factor": 4.0, "truncate": truncate, **numbers}))
    kept = (scaled / PLAIN - 1 / 4) / (1 - 1 / 4)
    bounds = [WIDTH * math.log(LENGTH / (turns * 2 * math.pi)) / (2 * math.log(BASE)) for turns in (8.0, 1.0)]
    first, last = (math.floor(bounds[0]), math.ceil(bounds[1])) if truncate else bounds
    np.testing.assert_allclose(kept, 1 - np.clip((np.arange(WIDTH // 2) - first) / (last - first), 0, 1), atol=1e-9)
    assert kept[0] == pytest.approx(1.0) and kept[-1] == pytest.approx(0.0)
