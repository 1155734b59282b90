"""Metrics of predicted numbers, from sums which batches, replicas and folds add up."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.tasks.intervals import NORMAL_95


@dataclass(frozen=True)
class NumberSums:
    """Sums over N rows of what was predicted (p) for them and what would be right (t).

    Args:
        rows: N.
        absolute, squared: of the errors |p - t| and (p - t)^2.
        true, predicted: of t and p.
        true_squared, predicted_squared, product: of t^2, p^2 and t p.
    """

    rows: float
    absolute: float
    squared: float
    true: float
    predicted: float
    true_squared: float
    predicted_squared: float
    product: float

    @staticmethod
    def terms(true: Any, predicted: Any) -> dict[str, Any]:
        """Compute the terms of each row, by the names of the sums: (N,) each, arrays or tensors."""
        error = predicted - true
        return {
            "rows": error * 0 + 1,
            "absolute": abs(error),
            "squared": error * error,
            "true": true,
            "predicted": predicted,
            "true_squared": true * true,
            "predicted_squared": predicted * predicted,
            "product": true * predicted,
        }

    @classmethod
    def of(cls, true: np.ndarray, predicted: np.ndarray) -> "NumberSums":
        """Sum the terms of N rows, (N,) and (N,)."""
        return cls(**{name: float(values.sum()) for name, values in cls.terms(true, predicted).items()})

    def metrics(self, *, unit: float = 1.0) -> dict[str, float]:
        """Measure all rows together.

        Args:
            unit: what 1 of the numbers stands for, in the unit of the file.

        Returns:
            `mean_absolute_error` and `root_mean_squared_error`, in the unit of the file; `r2`, the fraction of the
            variance that is explained, below 0 where the mean of the rows would predict better; and `pearson`, the
            correlation. Where all numbers are the same, the last two are 0.
        """
        around_mean = self.true_squared - self.true**2 / self.rows
        spread = self.predicted_squared - self.predicted**2 / self.rows
        covariance = self.product - self.true * self.predicted / self.rows
        varies = around_mean > 1e-9 * self.true_squared
        return {
            "mean_absolute_error": unit * self.absolute / self.rows,
            "root_mean_squared_error": unit * math.sqrt(self.squared / self.rows),
            "r2": 1.0 - self.squared / around_mean if varies else 0.0,
            "pearson": covariance / math.sqrt(around_mean * spread) if varies and spread > 0 else 0.0,
        }


def spearman(true: np.ndarray, predicted: np.ndarray) -> float:
    """Return the rank correlation of N pairs; 0 where all numbers of a side are the same.

    Source: Spearman 1904, "The proof and measurement of association between two things".
    """
    from scipy.stats import rankdata  # half a second, for commands that measure nothing

    ranks = NumberSums.of(rankdata(true) - (len(true) + 1) / 2, rankdata(predicted) - (len(true) + 1) / 2)
    return ranks.metrics()["pearson"]


def fisher(correlation: float, rows: int) -> tuple[float, float]:
    """Return the 95 % interval of a correlation of N pairs.

    Source: Fisher 1915, "Frequency distribution of the values of the correlation coefficient in samples from an
    indefinitely large population".
    """
    if rows <= 3 or abs(correlation) >= 1:
        return (correlation, correlation) if rows > 3 else (-1.0, 1.0)
    half = NORMAL_95 / math.sqrt(rows - 3)
    return math.tanh(math.atanh(correlation) - half), math.tanh(math.atanh(correlation) + half)
