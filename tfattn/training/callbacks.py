"""Decisions after each validation. They depend on the history alone, so that a resumed run decides the same."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import NonNegativeFloat, PositiveInt


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """Early stopping: ends a run when the monitored metric stops improving.

    A lower loss at the same value is not an improvement, although `best_of` prefers it: the loss may keep falling long
    after a metric has reached its maximum.

    Args:
        patience: the number of validations without improvement after which the run ends; these are epochs if
            `validate_every` is not given.
        min_delta: the minimum change that counts as an improvement.
    """

    patience: PositiveInt = 3
    min_delta: NonNegativeFloat = 0.0

    def stops(self, values: Sequence[float], mode: str) -> bool:
        """Return whether the run ends after these values, one per validation; `mode` is "max" or "min"."""
        best, waited = -math.inf, 0
        for value in _gains(values, mode):
            improved = value > best + self.min_delta or best == -math.inf < value
            best, waited = (value, 0) if improved else (best, waited + 1)
        return waited >= self.patience


def best_of(values: Sequence[float], losses: Sequence[float], mode: str) -> int:
    """Return the index of the best validation.

    Of equal values, the value with the lowest loss is best; of equal losses, the last. A metric that counts rows often
    stays equal while the model still learns. NaN is worse than every number.

    Args:
        values: the monitored metric of each validation.
        losses: the loss of each validation.
        mode: whether "max" or "min" of the metric is best.

    Example:
        best_of([0.7, 0.8, 0.8], losses=[0.6, 0.5, 0.4], mode="max")  # 2
    """
    ranks = zip(_gains(values, mode), _gains(losses, "min"), range(len(values)), strict=True)
    return max(ranks)[-1]


def _gains(values: Sequence[float], mode: str) -> list[float]:
    sign = 1 if mode == "max" else -1
    return [-math.inf if math.isnan(value) else sign * value for value in values]
