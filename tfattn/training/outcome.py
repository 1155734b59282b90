"""The outcome of a run: warnings about runs that were too short, or that diverged."""

import math
from collections.abc import Mapping, Sequence

from tfattn.training.callbacks import best_of
from tfattn.training.settings import TrainingSettings

RISE = 2.0  # the training loss at the end, as a multiple of the loss at the start, from which a run has diverged
MIN_VALIDATIONS = 3  # fewer do not show a trend
LAST_PART = 0.25  # of the validations
STILL_IMPROVING = 0.1  # the fraction of the whole improvement that the last part of the run has contributed


def outcome_warnings(
    history: Sequence[Mapping[str, float]], settings: TrainingSettings, *, monitor: str, mode: str
) -> list[str]:
    """Warn of a run that diverged, or that was still improving at its end.

    Args:
        history: the lines of history.jsonl.
        settings: the settings of the run.
        monitor: the monitored metric.
        mode: whether "max" or "min" of it is best.
    """
    if not history:
        return []
    first, last = history[0]["loss"], history[-1]["loss"]
    rate = settings.optimizer.learning_rate
    if math.isnan(last) or last > RISE * abs(first):
        return [
            f"Training has diverged: the training loss is {last:.4g} at the end, and was {first:.4g} at the first "
            f"validation. Lower the learning rate, such as `training.optimizer.learning_rate: {rate / 10:g}`."
        ]
    name, kind = (f"validation_{monitor}", "validation ") if f"validation_{monitor}" in history[-1] else ("loss", "")
    values = [line[name] for line in history]
    if not _still_improves(values, mode if kind else "min"):
        return []
    longer = f"epochs: {2 * _epochs(history)}" if settings.steps is None else f"steps: {2 * settings.steps}"
    return [
        f"The {kind}{monitor.replace('_', ' ') if kind else 'loss'} was still improving at the end of training: "
        f"from {values[-1 - _last_part(values)]:.4g} to {values[-1]:.4g} in the last quarter. Train longer, such as "
        f"`training.{longer}`, or raise `training.optimizer.learning_rate`."
    ]


def _still_improves(values: Sequence[float], mode: str) -> bool:
    """Return whether the last part of the run contributed much to the improvement, and its end is best."""
    if len(values) < MIN_VALIDATIONS or best_of(values, values, mode) != len(values) - 1:
        return False
    before = values[: -_last_part(values)]
    best_before = before[best_of(before, before, mode)]
    return abs(values[-1] - best_before) > STILL_IMPROVING * abs(values[-1] - values[0]) > 0


def _last_part(values: Sequence[float]) -> int:
    return max(1, round(LAST_PART * len(values)))


def _epochs(history: Sequence[Mapping[str, float]]) -> int:
    return int(history[-1]["epoch"])
