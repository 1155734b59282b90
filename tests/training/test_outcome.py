"""Warnings about runs that were too short, or that diverged."""

import math

import pytest

from tfattn.training.outcome import outcome_warnings
from tfattn.training.settings import TrainingSettings


def warned(losses, accuracies=(), **settings):
    history = [{"epoch": number, "step": 10 * number, "loss": loss} for number, loss in enumerate(losses, start=1)]
    for line, accuracy in zip(history, accuracies, strict=False):
        line["validation_accuracy"] = accuracy
    return outcome_warnings(history, TrainingSettings(**settings), monitor="accuracy", mode="max")


def test_a_run_that_still_improves_has_a_longer_run_as_its_remedy():
    (warning,) = warned([0.7, 0.6, 0.5, 0.4], [0.5, 0.6, 0.7, 0.8])
    assert "validation accuracy was still improving" in warning and "from 0.7 to 0.8 in the last quarter" in warning
    assert "`training.epochs: 8`" in warning
    (warning,) = warned([0.7, 0.6, 0.5, 0.4], steps=40)
    assert "The loss was still improving" in warning and "`training.steps: 80`" in warning


@pytest.mark.parametrize(
    "accuracies",
    [(0.5, 0.8), (0.5, 0.79, 0.8, 0.801), (0.5, 0.6, 0.8, 0.7), (0.5, 0.8, 0.8, 0.8), (0.5, 0.5, 0.5), ()],
)
def test_other_runs_have_no_warning(accuracies):
    assert not warned([0.5] * 5, accuracies)


@pytest.mark.parametrize("last", [1.7, math.nan, math.inf])
def test_a_diverged_run_has_a_lower_rate_as_its_remedy(last):
    (warning,) = warned([0.7, 0.6, 0.5, last], [0.5, 0.6, 0.7, 0.8])
    assert "Training has diverged" in warning and "`training.optimizer.learning_rate: 1e-05`" in warning
