"""Numbers as text: rounding keeps the meaning, and intervals keep distinct ends."""

import doctest

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tfattn.evaluation import wording
from tfattn.evaluation.wording import between, count, number, percent, percents

SHARES = st.floats(0, 1)


def test_examples():
    assert doctest.testmod(wording).failed == 0


@given(SHARES)
def test_only_exact_fractions_are_formatted_as_100_or_0_percent(share):
    assume(share in (0, 1) or 1e-9 < share < 1 - 1e-9)
    said = percent(share)
    assert (float(said[:-1]) == 100) == (share == 1) and (float(said[:-1]) == 0) == (share == 0)
    assert float(said[:-1]) / 100 == pytest.approx(share, abs=0.0005 + 1e-12)


@given(st.floats(-1, 1), st.floats(1e-7, 1))
def test_interval_ends_are_distinguishable(low, width):
    first, second = map(float, between(low, low + width).split(" to "))
    assert first < second
    assert abs(first - low) <= 0.06 * width + 1e-12 and abs(second - low - width) <= 0.06 * width + 1e-12


@pytest.mark.parametrize("value", [-0.0, -1e-9, -0.00001, 0.0])
def test_zero_has_no_minus_sign(value):
    assert not between(value, 0.5).startswith("-0.0000 ")
    assert number(round(value, 4)) == "0"


@pytest.mark.parametrize(
    ("value", "said"),
    [(12345.6, "12350"), (2e-05, "0.00002"), (0.95, "0.95"), (3.0, "3"), (float("inf"), "inf"), (-0.25, "-0.25")],
)
def test_numbers_have_no_powers_of_ten(value, said):
    assert number(value) == said
    assert number(np.float32(value)) == said


def test_intervals_of_fractions():
    assert percents(0.898, 0.984) == "89.8% to 98.4%"
    assert percents(0.99951, 0.99968, word="and") == "99.951% and 99.968%"


def test_counts_of_one_are_singular():
    assert [count(number, "row") for number in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
