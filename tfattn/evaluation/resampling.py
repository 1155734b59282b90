"""Intervals by drawing rows anew: what a metric would be with other rows of this kind."""

from collections.abc import Callable

import numpy as np

SEED, RESAMPLES = 0, 1000  # one evaluation of one model always says the same


def interval(sums: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Compute the 95 % interval of a metric that follows from sums over rows, by the bootstrap.

    Args:
        sums: (N, k), what each row adds.
        measure: from sums of k numbers (R, k) to the metric (R,).

    Example:
        >>> interval(np.ones((5, 2)), lambda sums: sums[:, 0] / sums[:, 1])
        (1.0, 1.0)
    """
    draw = np.random.default_rng(SEED)
    drawn = np.stack([sums[draw.integers(len(sums), size=len(sums))].sum(axis=0) for _ in range(RESAMPLES)])
    low, high = np.percentile(measure(drawn), (2.5, 97.5))
    return float(low), float(high)
