"""Early stopping and the choice of the best epoch."""

import math

import pytest

from tfattn.training.callbacks import EarlyStopping, best_of


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


def test_a_change_below_min_delta_is_not_an_improvement():
    values = [0.5, 0.505, 0.509]
    assert EarlyStopping(patience=2, min_delta=0.01).stops(values, "max")
    assert not EarlyStopping(patience=2, min_delta=0.001).stops(values, "max")


def test_an_equal_value_with_a_lower_loss_is_not_an_improvement():
    assert EarlyStopping(patience=2).stops([0.7, 0.7, 0.7], "max")


@pytest.mark.parametrize(
    ("values", "losses", "mode", "best"),
    [
        ([0.1, 0.9, 0.8], [3.0, 2.0, 1.0], "max", 1),
        ([0.3, 0.1, 0.2], [1.0, 3.0, 2.0], "min", 1),
        ([0.7, 0.7, 0.7, 0.7], [0.6, 0.5, 0.4, 0.5], "max", 2),
        ([0.1, 0.1, 0.2], [0.5, 0.4, 0.1], "min", 1),
        ([0.9, 0.9, 0.8], [0.5, 0.5, 0.1], "max", 1),
        ([0.3, 0.1, 0.1], [0.3, 0.1, 0.1], "min", 2),  # the loss itself
    ],
)
def test_best_of_compares_value_then_loss_then_order(values, losses, mode, best):
    assert best_of(values, losses, mode) == best


@pytest.mark.parametrize("mode", ["min", "max"])
def test_nan_is_worse_than_every_number(mode):
    assert best_of([math.nan, 0.9, math.nan], [0.1, 0.5, 0.1], mode) == 1
    assert best_of([0.9, 0.9, 0.9], [math.nan, 0.5, math.nan], mode) == 1
