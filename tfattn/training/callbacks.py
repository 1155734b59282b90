"""What is decided after each epoch from the history alone, so that a resumed run decides the same."""

import math
from collections.abc import Sequence

from pydantic import NonNegativeFloat, PositiveInt


class EarlyStopping:
    """Ends a run when the monitored metric has not improved for some epochs.

    A lower loss at the same value is no improvement here, though `best_epoch` prefers it: where a metric cannot rise
    any more, the loss may go on falling for long.

    Args:
        patience: epochs without an improvement after which the run ends.
        min_delta: the least change that counts as one.
    """

    def __init__(self, *, patience: PositiveInt = 3, min_delta: NonNegativeFloat = 0.0):
        self.patience = patience
        self.min_delta = min_delta

    def stops(self, values: Sequence[float], mode: str) -> bool:
        """Whether the run ends after these values, one per epoch; `mode` says whether "max" or "min" is best."""
        best, waited = -math.inf, 0
        for value in _gains(values, mode):
            improved = value > best + self.min_delta or best == -math.inf < value
            best, waited = (value, 0) if improved else (best, waited + 1)
        return waited >= self.patience


def best_epoch(values: Sequence[float], losses: Sequence[float], mode: str) -> int:
    """The index of the epoch whose weights count as the best.

    Of equal values the one with the lowest loss is best, and of those the last: a metric that counts rows is often
    equal while the model still learns. What is not a number is worse than every number.

    Args:
        values: of the monitored metric, one per epoch.
        losses: of the same rows, one per epoch.
        mode: whether "max" or "min" of the metric is best.

    Example:
        best_epoch([0.7, 0.8, 0.8], losses=[0.6, 0.5, 0.4], mode="max")  # 2
    """
    ranks = zip(_gains(values, mode), _gains(losses, "min"), range(len(values)), strict=True)
    return max(ranks)[-1]


def _gains(values: Sequence[float], mode: str) -> list[float]:
    sign = 1 if mode == "max" else -1
    return [-math.inf if math.isnan(value) else sign * value for value in values]
