"""What is decided after an epoch, from the history."""

import math

import pytest

from tfattn.training.callbacks import EarlyStopping, best_epoch


@pytest.mark.parametrize(
    ("values", "mode", "stops"),
    [
        ([0.5, 0.6, 0.7, 0.8], "max", False),
        ([0.5, 0.8, 0.7, 0.7], "max", True),
        ([0.5, 0.8, 0.7, 0.9], "max", False),
        ([0.8, 0.5, 0.6, 0.6], "min", True),
        ([0.8, 0.5, 0.6, 0.4], "min", False),
        ([0.8, math.nan, math.nan], "min", True),
        ([math.nan, 0.8, 0.7], "min", False),
    ],
)
def test_a_run_ends_after_two_epochs_without_an_improvement(values, mode, stops):
    assert EarlyStopping(patience=2).stops(values, mode) is stops


def test_a_change_below_min_delta_is_no_improvement():
    values = [0.5, 0.505, 0.509]
    assert EarlyStopping(patience=2, min_delta=0.01).stops(values, "max")
    assert not EarlyStopping(patience=2, min_delta=0.001).stops(values, "max")


def test_the_best_epoch_is_the_first_of_equals_and_a_number():
    assert best_epoch([0.1, 0.9, 0.9], "max") == 1
    assert best_epoch([0.3, 0.1, 0.1], "min") == 1
    assert best_epoch([math.nan, 0.9], "min") == 1
    assert best_epoch([math.nan, 0.9], "max") == 1
