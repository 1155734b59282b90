"""What is decided after each epoch from the history alone, so that a resumed run decides the same."""

import math
from collections.abc import Sequence

from pydantic import NonNegativeFloat, PositiveInt


class EarlyStopping:
    """Ends a run when the monitored metric has not improved for some epochs.

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


def best_epoch(values: Sequence[float], mode: str) -> int:
    """The index of the best value, the first of equals; a value that is not a number is worse than all others."""
    gains = _gains(values, mode)
    return gains.index(max(gains))


def _gains(values: Sequence[float], mode: str) -> list[float]:
    sign = 1 if mode == "max" else -1
    return [-math.inf if math.isnan(value) else sign * value for value in values]
