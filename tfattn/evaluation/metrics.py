"""Metrics of predictions, and how far each can be trusted."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import brentq
from sklearn.metrics import average_precision_score, confusion_matrix

from tfattn.tasks.intervals import NORMAL_95
from tfattn.tasks.label_metrics import LabelCounts, LabelSetCounts, roc_auc
from tfattn.tasks.number_metrics import fisher, number_metrics, spearman

MIN_SCORE = 1e-7  # float32 may round a score to 0, whose logarithm would outweigh all other rows
SEED, RESAMPLES = 0, 1000  # of the bootstrap: one evaluation of one model always says the same


def classification(true: np.ndarray, predicted: np.ndarray, labels: Sequence[str]) -> dict[str, float]:
    """Compute the metrics of a classifier by flat names, as metrics.json holds them.

        accuracy                       fraction of correct predictions
        accuracy_low, accuracy_high    its 95 % interval, see `wilson`
        baseline_accuracy              what always predicting the most frequent label would reach
        macro_precision, macro_recall, macro_f1    means over the labels, each counting the same
        matthews_correlation           1 where all are right, 0 where they have nothing to do with the right ones
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
    counts = LabelCounts.of(true, predicted, len(labels))
    metrics = {**counts.metrics(), "baseline_accuracy": float(counts.true.max() / len(true))}
    for name, values in counts.by_label.items():
        metrics |= {f"{name}/{label}": float(value) for label, value in zip(labels, values, strict=True)}
    return metrics | {f"support/{label}": int(rows) for label, rows in zip(labels, counts.true, strict=True)}


def log_loss(true: np.ndarray, scores: np.ndarray) -> float:
    """Compute the mean negative logarithm of the score of the right label, in nats.

    Args:
        true: (N,) ids of the right labels; or (N, C) bool, which labels a row has: then the mean over rows and labels.
        scores: (N, C).

    Example:
        >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]])), 4)
        0.3466
    """
    right = np.where(true, scores, 1 - scores) if true.ndim == 2 else scores[np.arange(len(true)), true]
    return float(-np.log(np.clip(right, MIN_SCORE, 1)).mean())


def detection(positive: np.ndarray, found: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Compute the metrics of a search for positive rows by flat names.

        sensitivity          fraction of positive rows that were found
        specificity          fraction of the other rows that were left alone
        roc_auc              how often a positive row scores above another; 0.5 if there is only one kind of row
        average_precision    mean precision over the ranks of the positive rows

    The first three come with `_low` and `_high`, their 95 % intervals: see `wilson` and `area_interval`.

    Args:
        positive: (N,) bool, which rows are positive.
        found: (N,) bool, which rows were taken for positive.
        scores: (N,) of the positive label.
    """
    positives, others = int(positive.sum()), int((~positive).sum())
    area = roc_auc(positive, scores)
    low, high = area_interval(area, positives, others)
    return {
        **LabelCounts.of(positive.astype(int), found.astype(int), 2).detection(1),
        "roc_auc": area,
        "roc_auc_low": low,
        "roc_auc_high": high,
        "average_precision": float(average_precision_score(positive, scores)) if positives else 0.0,
    }


def regression(true: np.ndarray, predicted: np.ndarray, *, guess: float) -> dict[str, float]:
    """Compute the metrics of predicted numbers by flat names.

        mean_absolute_error, root_mean_squared_error, r2, pearson    as number_metrics has them
        spearman                                                     the rank correlation
        baseline_mean_absolute_error, baseline_root_mean_squared_error    of always predicting the same

    All but the last two come with their 95 % interval `_low` to `_high`: correlations by Fisher's transformation, the
    others by the bootstrap.

    Args:
        true: (N,) what should have been predicted.
        predicted: (N,) what was.
        guess: what is always predicted for comparison, such as the mean of the training rows.

    Sources: Efron 1979, "Bootstrap methods: another look at the jackknife"; for Fisher's, see number_metrics.fisher.
    """
    metrics = {**number_metrics(true, predicted), "spearman": spearman(true, predicted)}
    for name in ("pearson", "spearman"):
        metrics[f"{name}_low"], metrics[f"{name}_high"] = fisher(metrics[name], len(true))
    draw = np.random.default_rng(SEED)
    samples = (draw.integers(len(true), size=len(true)) for _ in range(RESAMPLES))
    resampled = [number_metrics(true[sample], predicted[sample]) for sample in samples]
    for name in ("mean_absolute_error", "root_mean_squared_error", "r2"):
        low, high = np.percentile([one[name] for one in resampled], (2.5, 97.5))
        metrics[f"{name}_low"], metrics[f"{name}_high"] = float(low), float(high)
    baseline = number_metrics(true, np.full(len(true), guess))
    names = ("mean_absolute_error", "root_mean_squared_error")
    return metrics | {f"baseline_{name}": baseline[name] for name in names}


def multi_label(true: np.ndarray, given: np.ndarray, scores: np.ndarray, labels: Sequence[str]) -> dict[str, float]:
    """Compute the metrics of predictions of any number of labels, by flat names.

        subset_accuracy ... macro_f1    as LabelSetCounts has them
        micro_average_precision, macro_average_precision    of the scores, at no threshold
        baseline_micro_f1    what giving every row the labels would reach that most rows have
        precision/LABEL, recall/LABEL, f1/LABEL, average_precision/LABEL, support/LABEL    of one label

    Args:
        true: (N, C) bool, whether a row has a label.
        given: (N, C) bool, whether it got it.
        scores: (N, C), of the labels.
        labels: the C labels.
    """
    counts = LabelSetCounts.of(true, given)
    usual = LabelSetCounts.of(true, np.broadcast_to(_usual(true), true.shape))
    each = zip(true.T, scores.T, strict=True)
    precisions = np.array([average_precision_score(has, own) if has.any() else 0.0 for has, own in each])
    metrics = {
        **counts.metrics(),
        "micro_average_precision": float(average_precision_score(true.ravel(), scores.ravel())) if true.any() else 0.0,
        "macro_average_precision": float(precisions.mean()),
        "baseline_micro_f1": usual.metrics()["micro_f1"],
    }
    for name, values in {**counts.labels.by_label, "average_precision": precisions}.items():
        metrics |= {f"{name}/{label}": float(value) for label, value in zip(labels, values, strict=True)}
    return metrics | {f"support/{label}": int(rows) for label, rows in zip(labels, counts.labels.true, strict=True)}


def _usual(true: np.ndarray) -> np.ndarray:
    """Find the labels, (C,) bool, that give the best micro F1 where every row gets them: the most frequent ones."""
    counts = np.sort(true.sum(axis=0))[::-1]
    given = np.arange(1, len(counts) + 1)
    best = int(np.argmax(2 * np.cumsum(counts) / (len(true) * given + counts.sum())))
    return true.sum(axis=0) >= counts[best]


def bootstrap_interval(sums: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Compute the 95 % interval of a metric that follows from sums over rows, by the bootstrap.

    Args:
        sums: (N, k), what each row adds.
        measure: from sums of k numbers (R, k) to the metric (R,).

    Example:
        >>> bootstrap_interval(np.ones((5, 2)), lambda sums: sums[:, 0] / sums[:, 1])
        (1.0, 1.0)
    """
    draw = np.random.default_rng(SEED)
    drawn = np.stack([sums[draw.integers(len(sums), size=len(sums))].sum(axis=0) for _ in range(RESAMPLES)])
    low, high = np.percentile(measure(drawn), (2.5, 97.5))
    return float(low), float(high)


def area_interval(area: float, positives: int, others: int) -> tuple[float, float]:
    """Compute the 95 % interval of a ROC AUC, fit for areas near 1: there, other methods claim to be certain.

    Source: Newcombe 2006, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic",
    part 2, method 5: all areas from which this one is 1.96 standard deviations away at most, with the deviation that
    they have themselves.

    Args:
        area: between 0 and 1.
        positives: rows of one kind.
        others: rows of the other kind.
    """
    if not positives or not others:
        return 0.0, 1.0
    # With the rows of both kinds counted alike, areas and their complements are treated the same.
    return _lower_end(area, positives, others), 1.0 - _lower_end(1.0 - area, positives, others)


def _lower_end(area: float, positives: int, others: int) -> float:
    pairs, mean = positives * others, (positives + others) / 2 - 1

    def beyond(theta: float) -> float:
        variance = theta * (1 - theta) / pairs * (1 + mean * (1 - theta) / (2 - theta) + mean * theta / (1 + theta))
        return (theta - area) ** 2 - NORMAL_95**2 * variance

    # 1 itself has no deviation, so it is always a solution for an area of 1, but not the lower one.
    return float(brentq(beyond, 0.0, min(area, 1 - 1e-9))) if area > 0 else 0.0


def confusions(true: np.ndarray, predicted: np.ndarray, num_classes: int) -> np.ndarray:
    """How often each label (row) was given each label (column): (C, C) counts."""
    return confusion_matrix(true, predicted, labels=range(num_classes))


def calibration(confidence: np.ndarray, right: np.ndarray, bins: int = 10) -> list[tuple[int, float, float]]:
    """Whether predictions are right as often as their scores claim.

    Args:
        confidence: (N,) the score of each given label, between 0 and 1.
        right: (N,) whether it was right.
        bins: how many groups of equal width to make of the scores; those without rows are left out.

    Returns:
        for each group, by rising score: rows, mean score, fraction of correct predictions.
    """
    group = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        (int(here.sum()), float(confidence[here].mean()), float(right[here].mean()))
        for here in (group == number for number in range(bins))
        if here.any()
    ]


def calibration_error(groups: Sequence[tuple[int, float, float]]) -> float:
    """By how much scores and fractions of right predictions differ on average over the rows.

    Source: Naeini et al. 2015, "Obtaining well calibrated probabilities using Bayesian binning", ECE.
    """
    return sum(rows * abs(score - fraction) for rows, score, fraction in groups) / sum(rows for rows, _, _ in groups)
