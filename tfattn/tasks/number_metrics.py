"""Metrics of predicted numbers, the same in training and in reports."""

import math

import numpy as np

from tfattn.tasks.intervals import NORMAL_95


def number_metrics(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Compute errors and correlation of N predicted numbers.

    Both sides are centered before they are squared: of timestamps or air pressures the mean has more digits than
    the differences that matter, and sums of uncentered squares would lose these.

    Args:
        true: (N,) the targets.
        predicted: (N,) the predictions.

    Returns:
        `mean_absolute_error` and `root_mean_squared_error`, in the unit of the targets; `r2`, the fraction of the
        variance that is explained, below 0 where the mean of the targets would predict better; and `pearson`, the
        correlation. `r2` is 0 where all targets are the same, and `pearson` where either side is.

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
    """Return the rank correlation of N pairs; 0 where all numbers of a side are the same.

    Source: Spearman 1904, "The proof and measurement of association between two things".
    """
    from scipy.stats import rankdata  # half a second, for commands that measure nothing

    return number_metrics(rankdata(true), rankdata(predicted))["pearson"]


def fisher(correlation: float, rows: int) -> tuple[float, float]:
    """Return the 95 % interval of a correlation of N pairs.

    Source: Fisher 1915, "Frequency distribution of the values of the correlation coefficient in samples from an
    indefinitely large population".
    """
    if rows <= 3 or abs(correlation) >= 1:
        return (correlation, correlation) if rows > 3 else (-1.0, 1.0)
    half = NORMAL_95 / math.sqrt(rows - 3)
    return math.tanh(math.atanh(correlation) - half), math.tanh(math.atanh(correlation) + half)
