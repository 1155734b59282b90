"""Figures about answers and truths, and how far each can be trusted."""

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from tfattn.tasks.intervals import wilson


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
