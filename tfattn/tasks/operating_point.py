"""The score threshold of the positive label, chosen for a required specificity."""

from dataclasses import dataclass, field

import numpy as np

from tfattn.errors import ConfigError
from tfattn.tasks.intervals import counted_fraction


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold, and its metrics on the rows that it was chosen on.

    Attributes:
        threshold: the minimum score of positive rows.
        metrics: sensitivity and specificity with their 95 % intervals, by flat names such as sensitivity_low; none if
            only the threshold is known, as of an export.
    """

    threshold: float
    metrics: dict[str, float] = field(default_factory=dict)


def choose(scores: np.ndarray, positive: np.ndarray, *, specificity: float) -> OperatingPoint:
    """Find the lowest threshold with at least the required specificity.

    The threshold is halfway between two scores, so that rounding cannot change a prediction. The specificity on new
    rows varies within its interval; the rows must not be training rows.

    Args:
        scores: (N,) scores of the positive label, between 0 and 1.
        positive: (N,) bool, which rows are positive.
        specificity: the minimum fraction of the other rows below the threshold, between 0 and 1.

    Raises:
        ConfigError: all rows are positive.

    Example:
        >>> choose(np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, True, False, True]), specificity=1.0).threshold
        0.75
    """
    scores = scores.astype("float32")
    others = np.sort(scores[~positive])
    if not len(others):
        raise ConfigError(
            "there are no rows to choose an operating point by",
            key="specificity",
            expected="positive and other rows among the validation rows",
            received="positive rows only",
        )
    # Rounded first: 0.9 of 10 rows is 9, though 0.9 * 10 may come out a little higher.
    below = int(np.ceil(round(specificity * len(others), 9)))
    threshold = 0.0 if below == 0 else _above(others[below - 1], scores)
    return OperatingPoint(threshold, _metrics(scores >= threshold, positive))


def _above(score: np.float32, scores: np.ndarray) -> float:
    """Return the midpoint of a score and the next higher score (1 for the highest), at least the next float32."""
    higher = scores[scores > score]
    middle = np.float32((float(score) + (float(higher.min()) if len(higher) else 1.0)) / 2)
    return float(middle if middle > score else np.nextafter(score, np.float32(2.0)))


def _metrics(found: np.ndarray, positive: np.ndarray) -> dict[str, float]:
    return {
        **counted_fraction("sensitivity", int(np.sum(found & positive)), int(positive.sum())),
        **counted_fraction("specificity", int(np.sum(~found & ~positive)), int((~positive).sum())),
    }
