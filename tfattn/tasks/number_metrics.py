"""Metrics of predicted numbers, the same in training and in reports."""

import math

import numpy as np

from tfattn.tasks.intervals import NORMAL_95


def number_metrics(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Compute errors and correlation of N predicted numbers.

    Both sides are centered before they are squared: the mean of timestamps or air pressures has more digits than
    their differences, which sums of uncentered squares would lose.

    Args:
        true: (N,) the targets.
        predicted: (N,) the predictions.

    Returns:
        `mean_absolute_error` and `root_mean_squared_error`, in the unit of the targets; `r2`, the explained fraction of
        the variance, below 0 where the mean of the targets is a better prediction; and `pearson`, the correlation. `r2`
        is 0 where all targets are equal, and `pearson` where all targets or all predictions are equal.

    Example:
        >>> number_metrics(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0]))["mean_absolute_error"]
        1.0
    """
    true, predicted = np.asarray(true, "float64"), np.asarray(predicted, "float64")
    error = predicted - true
    squared = np.dot(error, error)
    centered_true, centered_predicted = true - true.mean(), predicted - predicted.mean()
    true_norm, predicted_norm = np.linalg.norm(centered_true), np.linalg.norm(centered_predicted)
    true_varies, predicted_varies = np.ptp(true) > 0, np.ptp(predicted) > 0
    covariance = np.dot(centered_true, centered_predicted)
    return {
        "mean_absolute_error": float(np.abs(error).mean()),
        "root_mean_squared_error": math.sqrt(squared / len(true)),
        "r2": float(1 - squared / true_norm**2) if true_varies else 0.0,
        "pearson": float(covariance / (true_norm * predicted_norm)) if true_varies and predicted_varies else 0.0,
    }


def spearman(true: np.ndarray, predicted: np.ndarray) -> float:
    """Compute the rank correlation of N pairs; 0 where all targets or all predictions are equal.

    Source: Spearman 1904, "The proof and measurement of association between two things".
    """
    from scipy.stats import rankdata  # slow to import, and not needed by most commands

    return number_metrics(rankdata(true), rankdata(predicted))["pearson"]


def fisher(correlation: float, rows: int) -> tuple[float, float]:
    """Compute the 95 % interval of a correlation of N pairs.

    Source: Fisher 1915, "Frequency distribution of the values of the correlation coefficient in samples from an
    indefinitely large population".
    """
    if rows <= 3 or abs(correlation) >= 1:
        return (correlation, correlation) if rows > 3 else (-1.0, 1.0)
    half = NORMAL_95 / math.sqrt(rows - 3)
    return math.tanh(math.atanh(correlation) - half), math.tanh(math.atanh(correlation) + half)
