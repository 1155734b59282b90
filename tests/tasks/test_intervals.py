"""Shares and their intervals."""

import pytest

from tfattn.tasks.intervals import counted_share, wilson


def test_wilson_gives_the_published_interval():
    # Newcombe 1998, table I: 15 of 148 and 0 of 20.
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_a_share_and_its_interval_by_name():
    low, high = wilson(15, 148)
    assert counted_share("found", 15, 148) == {"found": 15 / 148, "found_low": low, "found_high": high}
    assert counted_share("found", 0, 0) == {"found": 0.0, "found_low": 0.0, "found_high": 1.0}
