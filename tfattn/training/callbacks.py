"""Decisions after each validation, made from the history alone, so that a resumed run decides the same."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import NonNegativeFloat, PositiveInt


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Ends a run when the monitored metric has not improved for some epochs, or validations within them.

    A lower loss at the same value is no improvement here, though `best_of` prefers it: where a metric is at its
    highest, the loss may go on falling for long.

    Args:
        patience: the number of validations without improvement after which the run ends; these are epochs, if
            `validate_every` is not given.
        min_delta: the least change that counts as an improvement.
    """

    patience: PositiveInt = 3
    min_delta: NonNegativeFloat = 0.0

    def stops(self, values: Sequence[float], mode: str) -> bool:
        """Tell whether the run ends after these values, one per validation; `mode`, "max" or "min", is the best."""
        best, waited = -math.inf, 0
        for value in _gains(values, mode):
            improved = value > best + self.min_delta or best == -math.inf < value
            best, waited = (value, 0) if improved else (best, waited + 1)
        return waited >= self.patience


def best_of(values: Sequence[float], losses: Sequence[float], mode: str) -> int:
    """Return the index of the best validation.

    Of equal values the one with the lowest loss is best, and of those the last: a metric that counts rows is often
    equal while the model still learns. NaN is worse than every number.

    Args:
        values: of the monitored metric, one per validation.
        losses: of the same rows, one per validation.
        mode: whether "max" or "min" of the metric is best.

    Example:
        best_of([0.7, 0.8, 0.8], losses=[0.6, 0.5, 0.4], mode="max")  # 2
    """
    ranks = zip(_gains(values, mode), _gains(losses, "min"), range(len(values)), strict=True)
    return max(ranks)[-1]


def _gains(values: Sequence[float], mode: str) -> list[float]:
    sign = 1 if mode == "max" else -1
    return [-math.inf if math.isnan(value) else sign * value for value in values]
