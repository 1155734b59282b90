"""Schedules, compared with the formulas of the papers."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tfattn.training.schedules import Constant, Cosine, InverseSqrt, Linear, Step


def fractions(schedule, total=100, steps=None):
    return np.array([float(schedule(tf.constant(step), total)) for step in steps or range(total)])


@pytest.mark.parametrize("schedule", [Constant, Linear, Cosine, InverseSqrt, Step])
def test_warm_up_is_linear(schedule):
    values = fractions(schedule(warmup=20))
    np.testing.assert_allclose(values[:20], np.arange(1, 21) / 20, rtol=1e-6)
    assert values.max() <= 1
    assert values[20] > 0.97
    assert np.all(np.diff(values[20:]) <= 1e-7)


def test_warm_up_is_a_fraction_or_a_number_of_steps():
    np.testing.assert_array_equal(fractions(Linear(warmup=0.1)), fractions(Linear(warmup=10)))
    assert fractions(Linear(warmup=0))[0] == 1


def test_linear_is_a_line_to_its_final_fraction():
    assert fractions(Linear(warmup=0), steps=[0, 50, 99]) == pytest.approx([1, 0.5, 0.01])
    assert fractions(Linear(warmup=0, final=0.2), steps=[50, 100, 1000]) == pytest.approx([0.6, 0.2, 0.2])


def test_cosine_is_half_a_wave():
    expected = [1, (1 + math.cos(math.pi / 4)) / 2, 0.5, 0]
    assert fractions(Cosine(warmup=0), steps=[0, 25, 50, 100]) == pytest.approx(expected, abs=1e-6)
    assert fractions(Cosine(warmup=0, final=0.1), steps=[50]) == pytest.approx([0.55])


def test_inverse_sqrt_is_the_transformers_formula():
    width, warmup = 512, 4000
    paper = [width**-0.5 * min(n**-0.5, n * warmup**-1.5) for n in (1, 1000, 4000, 16000)]
    ours = fractions(InverseSqrt(warmup=warmup), total=100_000, steps=[0, 999, 3999, 15999])
    assert ours * (width * warmup) ** -0.5 == pytest.approx(paper)


def test_step_falls_by_its_factor():
    values = fractions(Step(warmup=10, every=30, factor=0.1), steps=[10, 39, 40, 69, 70])
    assert values == pytest.approx([1, 1, 0.1, 0.1, 0.01])
    assert fractions(Step(warmup=0, every=0.5, factor=0.5), steps=[49, 50]) == pytest.approx([1, 0.5])
