"""Metrics of a classifier from three counts for each label, which add up over batches, replicas and folds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from tfattn.tasks.intervals import counted_fraction


@dataclass(frozen=True)
class LabelCounts:
    """The counts of true, predicted and correctly predicted rows of each of C labels.

    Args:
        true: (C,) rows of each label.
        given: (C,) rows predicted as each label.
        right: (C,) rows of each label that are predicted as it.
    """

    true: np.ndarray
    given: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, true: np.ndarray, given: np.ndarray, num_classes: int) -> "LabelCounts":
        """Count the labels of N rows, (N,) and (N,)."""
        return cls(*(np.bincount(ids, minlength=num_classes) for ids in (true, given, true[true == given])))

    @property
    def by_label(self) -> dict[str, np.ndarray]:
        """Compute `precision`, `recall` and `f1`, (C,) each; 0 for labels without predictions or rows."""
        return {
            "precision": _fractions(self.right, self.given),
            "recall": _fractions(self.right, self.true),
            "f1": _fractions(2 * self.right, self.true + self.given),
        }

    def metrics(self) -> dict[str, float]:
        """Compute the metrics over all labels.

        Returns:
            `accuracy` with its 95 % interval `accuracy_low` to `accuracy_high`; `macro_precision`, `macro_recall` and
            `macro_f1`, unweighted means over the labels; and `matthews_correlation`, 1 where all predictions are
            right, 0 where they are independent of the labels.

        Source: Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation coefficient", eq. 8.
        """
        right, rows = int(self.right.sum()), int(self.true.sum())
        means = {f"macro_{name}": float(values.mean()) for name, values in self.by_label.items()}
        true, given = (counts.astype(np.float64) for counts in (self.true, self.given))
        spread = np.sqrt((rows**2 - true @ true) * (rows**2 - given @ given))
        correlation = float((right * rows - true @ given) / spread) if spread else 0.0
        return {**counted_fraction("accuracy", right, rows), **means, "matthews_correlation": correlation}

    def detection(self, positive: int) -> dict[str, float]:
        """Compute the detection metrics of a positive label.

        Returns:
            `sensitivity`, the recall of positive rows, and `specificity`, the recall of the other rows, each with its
            95 % interval.
        """
        true, given, right = (int(counts[positive]) for counts in (self.true, self.given, self.right))
        others = int(self.true.sum()) - true
        return {
            **counted_fraction("sensitivity", right, true),
            **counted_fraction("specificity", others - (given - right), others),
        }


@dataclass(frozen=True)
class LabelSetCounts:
    """The counts of a multi-label classifier over C labels.

    Args:
        labels: the counts of each label.
        exact: the number of rows whose predicted labels are exactly their labels.
        rows: the number of rows.
    """

    labels: LabelCounts
    exact: int
    rows: int

    @classmethod
    def of(cls, true: np.ndarray, given: np.ndarray) -> "LabelSetCounts":
        """Count the labels of N rows, (N, C) bool each."""
        labels = LabelCounts(true.sum(axis=0), given.sum(axis=0), (true & given).sum(axis=0))
        return cls(labels, int((true == given).all(axis=1).sum()), len(true))

    @classmethod
    def summed(cls, statistics: Mapping[str, Any]) -> "LabelSetCounts":
        """Create the counts from statistics of any numeric type."""
        return cls(counts_of(statistics), round(float(statistics["exact"])), round(float(statistics["rows"])))

    def metrics(self) -> dict[str, float]:
        """Compute the metrics over all labels.

        Returns:
            `subset_accuracy`, the fraction of rows whose predicted labels are exactly right, with its 95 % interval;
            `hamming_loss`, the fraction of wrong decisions, C for each row; `micro_precision`, `micro_recall` and
            `micro_f1` over all decisions; and the unweighted `macro_` means over labels.
        """
        counts, pooled = self.labels, [np.array([part.sum()]) for part in vars(self.labels).values()]
        wrong = counts.true.sum() + counts.given.sum() - 2 * counts.right.sum()
        micro = LabelCounts(*pooled).by_label
        return {
            **counted_fraction("subset_accuracy", self.exact, self.rows),
            "hamming_loss": float(wrong) / (self.rows * len(counts.true)),
            **{f"micro_{name}": float(values[0]) for name, values in micro.items()},
            **{f"macro_{name}": float(values.mean()) for name, values in counts.by_label.items()},
        }


def counts_of(statistics: Mapping[str, Any]) -> LabelCounts:
    """Create the counts from statistics of any numeric type."""
    return LabelCounts(**{name: np.rint(statistics[name]).astype(np.int64) for name in ("true", "given", "right")})


def roc_auc(positive: np.ndarray, scores: np.ndarray) -> float:
    """Compute the area under the ROC curve; 0.5 if all rows are positive or none is.

    Args:
        positive: (N,) bool.
        scores: (N,) scores of the positive label.
    """
    return float(roc_auc_score(positive, scores)) if positive.any() and not positive.all() else 0.5


def _fractions(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
