"""The score threshold of the positive label, chosen for a required specificity or for the best metric."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from pydantic import NonNegativeFloat

from tfattn.errors import ConfigError
from tfattn.tasks.intervals import counted_fraction

Metric = Literal["f1", "balanced_accuracy"]
Criterion = Metric | dict[Literal["false_positive", "false_negative"], NonNegativeFloat]


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold, and its metrics on the rows that it was chosen on.

    Attributes:
        threshold: the minimum score of positive rows.
        metrics: sensitivity and specificity with their 95 % intervals, by flat names such as sensitivity_low; none if
            only the threshold is known, as of an export.
        split: the split of these rows.
    """

    threshold: float
    metrics: dict[str, float] = field(default_factory=dict)
    split: str = "validation"


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


def optimize(scores: np.ndarray, positive: np.ndarray, criterion: Criterion) -> OperatingPoint:
    """Find the threshold that is best by a criterion; of equally good thresholds the one nearest to 0.5.

    The threshold is halfway between two scores, so that rounding cannot change a prediction.

    Args:
        scores: (N,) scores between 0 and 1.
        positive: (N,) bool, which of them belong to positive rows.
        criterion: "f1", the harmonic mean of precision and sensitivity; "balanced_accuracy", the mean of sensitivity
            and specificity; or the costs of a `false_positive` and of a `false_negative`, by default 1, whose total is
            minimized.

    Raises:
        ConfigError: all rows are positive, or none is.

    Example:
        >>> scores, positive = np.array([0.1, 0.2, 0.3, 0.9]), np.array([False, True, True, True])
        >>> round(optimize(scores, positive, "f1").threshold, 4)
        0.15
    """
    scores = scores.astype("float32")
    total = int(positive.sum())
    if total in (0, len(positive)):
        raise ConfigError(
            "there are no rows to choose a threshold by",
            key="threshold",
            expected="positive and other rows among the calibration rows",
            received="no positive rows" if total == 0 else "positive rows only",
        )
    levels, level = np.unique(scores, return_inverse=True)
    hits = np.bincount(level, weights=positive, minlength=len(levels))
    alarms = np.bincount(level, weights=~positive, minlength=len(levels))
    # Of each threshold: below all scores, between two of them, and above all.
    true_positive = np.append(np.cumsum(hits[::-1])[::-1], 0)
    false_positive = np.append(np.cumsum(alarms[::-1])[::-1], 0)
    value = _value(criterion, true_positive, false_positive, total, len(positive) - total)
    middles = ((levels[:-1].astype(float) + levels[1:]) / 2).astype("float32")
    middles = np.where(middles > levels[:-1], middles, levels[1:])
    thresholds = np.concatenate([[0.0], middles, [np.nextafter(levels[-1], np.float32(2.0))]])
    best = thresholds[value >= value.max() - 1e-12]
    threshold = float(best[np.argmin(np.abs(best - 0.5))])
    return OperatingPoint(threshold, _metrics(scores >= threshold, positive))


def _value(
    criterion: Criterion, true_positive: np.ndarray, false_positive: np.ndarray, positives: int, others: int
) -> np.ndarray:
    """Compute the value of a criterion for each threshold, the higher the better."""
    if criterion == "f1":
        return 2 * true_positive / (true_positive + false_positive + positives)
    if criterion == "balanced_accuracy":
        return (true_positive / positives + 1 - false_positive / others) / 2
    costs = {"false_positive": 1.0, "false_negative": 1.0, **criterion}
    return -(costs["false_positive"] * false_positive + costs["false_negative"] * (positives - true_positive))


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
