"""Fractions and their intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.tasks.intervals import counted_fraction, wilson


def test_wilson_gives_the_published_interval():
    # Newcombe 1998, table I: 15 of 148 and 0 of 20.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_a_fraction_and_its_interval_by_name():
    low, high = wilson(15, 148)
    assert counted_fraction("found", 15, 148) == {"found": 15 / 148, "found_low": low, "found_high": high}
    assert counted_fraction("found", 0, 0) == {"found": 0.0, "found_low": 0.0, "found_high": 1.0}


@given(st.integers(1, 10_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_wilson_intervals_contain_the_fraction_within_0_and_1(counted):
    successes, trials = counted
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12 and successes / trials - 1e-12 <= high <= 1
    assert low < high


def test_more_rows_narrow_the_interval():
    widths = [high - low for low, high in (wilson(9 * rows, 10 * rows) for rows in (1, 10, 100))]
    assert widths == sorted(widths, reverse=True)
