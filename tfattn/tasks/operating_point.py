"""The score from which on a row counts as positive, chosen so that few others do."""

from dataclasses import dataclass

import numpy as np

from tfattn.errors import ConfigError
from tfattn.tasks.intervals import counted_fraction


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold, and what it did to the rows that it was chosen on.

    Attributes:
        threshold: a row is positive where its score reaches it.
        metrics: sensitivity and specificity with their 95 % intervals, by flat names such as sensitivity_low.
    """

    threshold: float
    metrics: dict[str, float]


def choose(scores: np.ndarray, positive: np.ndarray, *, specificity: float) -> OperatingPoint:
    """Find the lowest threshold at which at least this fraction of the other rows stays below it.

    It stands in the middle between two scores, so that rounding does not turn an answer. On new rows the specificity
    varies around what was asked for, as its interval says; the rows must not be those that the model was trained on.

    Args:
        scores: (N,) of the positive label, between 0 and 1.
        positive: (N,) bool, which rows are positive.
        specificity: the least fraction of the other rows that must stay below, between 0 and 1.

    Raises:
        ConfigError: there is no row but positive ones.

    Example:
        >>> choose(np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, True, False, True]), specificity=1.0).threshold
        0.75
    """
    scores = scores.astype("float32")
    others = np.sort(scores[~positive])
    if not len(others):
        raise ConfigError(
            "there is nothing to choose an operating point by",
            key="specificity",
            expected="rows of both kinds among those that measure",
            received="positive rows only",
        )
    # Rounded first: 0.9 of 10 rows is 9, though 0.9 * 10 may come out a little higher.
    below = int(np.ceil(round(specificity * len(others), 9)))
    threshold = 0.0 if below == 0 else _above(others[below - 1], scores)
    return OperatingPoint(threshold, _metrics(scores >= threshold, positive))


def _above(score: np.float32, scores: np.ndarray) -> float:
    """Half way from a score to the next higher one, or to 1 if it is the highest; at least the next number."""
    higher = scores[scores > score]
    middle = np.float32((float(score) + (float(higher.min()) if len(higher) else 1.0)) / 2)
    return float(middle if middle > score else np.nextafter(score, np.float32(2.0)))


def _metrics(found: np.ndarray, positive: np.ndarray) -> dict[str, float]:
    return {
        **counted_fraction("sensitivity", int(np.sum(found & positive)), int(positive.sum())),
        **counted_fraction("specificity", int(np.sum(~found & ~positive)), int((~positive).sum())),
    }
