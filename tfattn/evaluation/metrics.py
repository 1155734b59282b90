"""Figures about answers and truths, and how far each can be trusted."""

import math
from collections.abc import Sequence

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

# The 97.5 % point of the normal distribution: an interval of this many standard deviations each way holds 95 %.
NORMAL_95 = 1.959964


def classification(true: np.ndarray, predicted: np.ndarray, labels: Sequence[str]) -> dict[str, float]:
    """The figures of a classifier by flat names, as metrics.json holds them.

        accuracy                       share of right answers
        accuracy_low, accuracy_high    its 95 % interval, see `wilson`
        baseline_accuracy              what always answering the most frequent label would reach
        macro_precision, macro_recall, macro_f1    means over the labels, each counting the same
        precision/LABEL, recall/LABEL, f1/LABEL, support/LABEL    of one label; support is its number of rows

    A label that is never predicted, or has no rows, scores 0.

    Args:
        true: (N,) ids of the right labels.
        predicted: (N,) ids of the given labels.
        labels: the labels in the order of their ids.

    Example:
        >>> classification(np.array([0, 0, 1]), np.array([0, 1, 1]), ["no", "yes"])["recall/no"]
        0.5
    """
    ids = range(len(labels))
    precision, recall, f1, support = precision_recall_fscore_support(true, predicted, labels=ids, zero_division=0)
    right = int(np.sum(true == predicted))
    low, high = wilson(right, len(true))
    metrics = {
        "accuracy": float(accuracy_score(true, predicted)),
        "accuracy_low": low,
        "accuracy_high": high,
        "baseline_accuracy": float(support.max() / len(true)),
        "macro_precision": float(precision.mean()),
        "macro_recall": float(recall.mean()),
        "macro_f1": float(f1.mean()),
    }
    for name, values in {"precision": precision, "recall": recall, "f1": f1}.items():
        metrics |= {f"{name}/{label}": float(value) for label, value in zip(labels, values, strict=True)}
    return metrics | {f"support/{label}": int(rows) for label, rows in zip(labels, support, strict=True)}


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share, fit for few trials and for shares near 0 or 1.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if trials == 0:
        return 0.0, 1.0
    share, spread = successes / trials, NORMAL_95**2 / trials
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def confusions(true: np.ndarray, predicted: np.ndarray, num_classes: int) -> np.ndarray:
    """How often each label (row) was given each label (column): (C, C) counts."""
    return confusion_matrix(true, predicted, labels=range(num_classes))


def calibration(confidence: np.ndarray, right: np.ndarray, bins: int = 10) -> list[tuple[int, float, float]]:
    """Whether answers are right as often as their scores claim.

    Args:
        confidence: (N,) the score of each given answer, between 0 and 1.
        right: (N,) whether it was right.
        bins: how many groups of equal width to make of the scores; those without rows are left out.

    Returns:
        for each group, by rising score: rows, mean score, share of right answers.
    """
    group = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        (int(here.sum()), float(confidence[here].mean()), float(right[here].mean()))
        for here in (group == number for number in range(bins))
        if here.any()
    ]


def calibration_error(groups: Sequence[tuple[int, float, float]]) -> float:
    """By how much scores and shares of right answers differ on average over the rows.

    Source: Naeini et al. 2015, "Obtaining well calibrated probabilities using Bayesian binning", ECE.
    """
    return sum(rows * abs(score - share) for rows, score, share in groups) / sum(rows for rows, _, _ in groups)
