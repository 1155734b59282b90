"""Metrics of predictions with confidence intervals."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.optimize import brentq
from sklearn.metrics import average_precision_score, confusion_matrix

from tfattn.tasks.intervals import NORMAL_95
from tfattn.tasks.label_metrics import LabelCounts, LabelSetCounts, roc_auc
from tfattn.tasks.number_metrics import fisher, number_metrics, spearman

MIN_SCORE = 1e-7  # float32 may round a score to 0, whose logarithm would outweigh all other rows
SEED, RESAMPLES = 0, 1000  # of the bootstrap; a fixed seed makes evaluations reproducible


def classification(true: np.ndarray, predicted: np.ndarray, labels: Sequence[str]) -> dict[str, float]:
    """Compute the metrics of a classifier by flat names, as in metrics.json.

        accuracy                       fraction of correct predictions
        accuracy_low, accuracy_high    its 95 % interval, see `wilson`
        baseline_accuracy              accuracy of always predicting the most frequent label
        macro_precision, macro_recall, macro_f1    unweighted means over the labels
        matthews_correlation           1 for perfect predictions, 0 for uncorrelated predictions
        precision/LABEL, recall/LABEL, f1/LABEL, support/LABEL    of a label; support is its number of rows

    Labels without predictions or rows score 0.

    Args:
        true: (N,) ids of the true labels.
        predicted: (N,) ids of the predicted labels.
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
    """Compute the mean negative log of the score of the true label, in nats.

    Args:
        true: (N,) ids of the true labels; or (N, C) bool for label sets, averaged over rows and labels.
        scores: (N, C).

    Example:
        >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]])), 4)
        0.3466
    """
    right = np.where(true, scores, 1 - scores) if true.ndim == 2 else scores[np.arange(len(true)), true]
    return float(-np.log(np.clip(right, MIN_SCORE, 1)).mean())


def brier_score(true: np.ndarray, scores: np.ndarray) -> float:
    """Compute the mean squared difference between scores and truth, summed over the labels of a row: from 0 to 2.

    Args:
        true: (N,) ids of the true labels; or (N, C) bool for label sets, averaged over rows and labels: from 0 to 1.
        scores: (N, C).

    Example:
        >>> brier_score(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]]))
        0.25

    Source: Brier 1950, "Verification of forecasts expressed in terms of probability", eq. 2.
    """
    if true.ndim == 2:
        return float(np.square(scores - true).mean())
    return float(np.square(scores - np.eye(scores.shape[1])[true]).sum(axis=1).mean())


def detection(positive: np.ndarray, found: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Compute the metrics of binary detection by flat names.

        sensitivity          fraction of positive rows that are predicted positive
        specificity          fraction of negative rows that are predicted negative
        roc_auc              probability that a positive row scores above a negative row; 0.5 with a single class
        average_precision    mean precision over the ranks of the positive rows

    The first three come with `_low` and `_high`, their 95 % intervals: see `wilson` and `area_interval`.

    Args:
        positive: (N,) bool, which rows are positive.
        found: (N,) bool, which rows are predicted positive.
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
    """Compute regression metrics by flat names.

        mean_absolute_error, root_mean_squared_error, r2, pearson    see number_metrics
        spearman                                                     the rank correlation
        baseline_mean_absolute_error, baseline_root_mean_squared_error    of always predicting `guess`

    All but the last two come with their 95 % interval `_low` to `_high`: correlations by Fisher's transformation, the
    others by the bootstrap.

    Args:
        true: (N,) true values.
        predicted: (N,) predicted values.
        guess: the constant prediction of the baseline, such as the mean of the training rows.

    Sources: Efron 1979, "Bootstrap methods: another look at the jackknife"; for Fisher's, see number_metrics.fisher.
    """
    metrics = {**number_metrics(true, predicted), "spearman": spearman(true, predicted)}
    for name in ("pearson", "spearman"):
        metrics[f"{name}_low"], metrics[f"{name}_high"] = fisher(metrics[name], len(true))
    metrics |= _bootstrap_intervals(
        number_metrics, (true, predicted), names=("mean_absolute_error", "root_mean_squared_error", "r2")
    )
    baseline = number_metrics(true, np.full(len(true), guess))
    names = ("mean_absolute_error", "root_mean_squared_error")
    return metrics | {f"baseline_{name}": baseline[name] for name in names}


def label_intervals(true: np.ndarray, predicted: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Compute the bootstrap 95 % intervals of `macro_f1`, `matthews_correlation` and `log_loss`.

    Args:
        true: (N,) ids of the true labels.
        predicted: (N,) ids of the predicted labels.
        scores: (N, C).
    """

    def measure(true: np.ndarray, predicted: np.ndarray, scores: np.ndarray) -> dict[str, float]:
        return {**LabelCounts.of(true, predicted, scores.shape[1]).metrics(), "log_loss": log_loss(true, scores)}

    names = ("macro_f1", "matthews_correlation", "log_loss")
    return _bootstrap_intervals(measure, (true, predicted, scores), names=names)


def label_set_intervals(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Compute the bootstrap 95 % intervals of `micro_f1` and `macro_f1` of label sets, (N, C) bool each."""

    def measure(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        return LabelSetCounts.of(true, predicted).metrics()

    return _bootstrap_intervals(measure, (true, predicted), names=("micro_f1", "macro_f1"))


def _bootstrap_intervals(
    measure: Callable[..., Mapping[str, float]], arrays: Sequence[np.ndarray], *, names: Sequence[str]
) -> dict[str, float]:
    """Compute `NAME_low` and `NAME_high`, the bootstrap 95 % intervals of metrics of arrays (N, ...)."""
    draw, rows = np.random.default_rng(SEED), len(arrays[0])
    samples = (draw.integers(rows, size=rows) for _ in range(RESAMPLES))
    resampled = [measure(*(values[sample] for values in arrays)) for sample in samples]
    ends = {}
    for name in names:
        low, high = np.percentile([metrics[name] for metrics in resampled], (2.5, 97.5))
        ends |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return ends


def multi_label(true: np.ndarray, predicted: np.ndarray, scores: np.ndarray, labels: Sequence[str]) -> dict[str, float]:
    """Compute multi-label metrics by flat names.

        subset_accuracy ... macro_f1    see LabelSetCounts
        micro_average_precision, macro_average_precision    of the scores, independent of a threshold
        baseline_micro_f1    of always predicting the most frequent labels
        precision/LABEL, recall/LABEL, f1/LABEL, average_precision/LABEL, support/LABEL    of one label

    Args:
        true: (N, C) bool, the true labels.
        given: (N, C) bool, the predicted labels.
        scores: (N, C), of the labels.
        labels: the C labels.
    """
    counts = LabelSetCounts.of(true, predicted)
    baseline = LabelSetCounts.of(true, np.broadcast_to(_baseline_labels(true), true.shape))
    each = zip(true.T, scores.T, strict=True)
    precisions = np.array([average_precision_score(has, own) if has.any() else 0.0 for has, own in each])
    metrics = {
        **counts.metrics(),
        "micro_average_precision": float(average_precision_score(true.ravel(), scores.ravel())) if true.any() else 0.0,
        "macro_average_precision": float(precisions.mean()),
        "baseline_micro_f1": baseline.metrics()["micro_f1"],
    }
    for name, values in {**counts.labels.by_label, "average_precision": precisions}.items():
        metrics |= {f"{name}/{label}": float(value) for label, value in zip(labels, values, strict=True)}
    return metrics | {f"support/{label}": int(rows) for label, rows in zip(labels, counts.labels.true, strict=True)}


def _baseline_labels(true: np.ndarray) -> np.ndarray:
    """Return the most frequent labels (C,) bool that maximize micro F1 when predicted for every row."""
    counts = np.sort(true.sum(axis=0))[::-1]
    predicted = np.arange(1, len(counts) + 1)
    best = int(np.argmax(2 * np.cumsum(counts) / (len(true) * predicted + counts.sum())))
    return true.sum(axis=0) >= counts[best]


def bootstrap_interval(sums: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Compute the bootstrap 95 % interval of a metric that is a function of sums over rows.

    Args:
        sums: (N, k), the summands of each row.
        measure: computes the metric (R,) from sums (R, k).

    Example:
        >>> bootstrap_interval(np.ones((5, 2)), lambda sums: sums[:, 0] / sums[:, 1])
        (1.0, 1.0)
    """
    draw = np.random.default_rng(SEED)
    drawn = np.stack([sums[draw.integers(len(sums), size=len(sums))].sum(axis=0) for _ in range(RESAMPLES)])
    low, high = np.percentile(measure(drawn), (2.5, 97.5))
    return float(low), float(high)


def area_interval(area: float, positives: int, others: int) -> tuple[float, float]:
    """Compute the 95 % interval of a ROC AUC. The interval is also valid near 1, where other methods give width 0.

    Source: Newcombe 2006, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic",
    part 2, method 5: all areas within 1.96 standard deviations of this area, with their own standard
    deviation.

    Args:
        area: between 0 and 1.
        positives: number of positive rows.
        others: number of negative rows.
    """
    if not positives or not others:
        return 0.0, 1.0
    # Symmetric in both classes, so areas and their complements have mirrored intervals.
    return _lower_end(area, positives, others), 1.0 - _lower_end(1.0 - area, positives, others)


def _lower_end(area: float, positives: int, others: int) -> float:
    pairs, mean = positives * others, (positives + others) / 2 - 1

    def beyond(theta: float) -> float:
        variance = theta * (1 - theta) / pairs * (1 + mean * (1 - theta) / (2 - theta) + mean * theta / (1 + theta))
        return (theta - area) ** 2 - NORMAL_95**2 * variance

    # For an area of 1, theta = 1 is a solution with variance 0; exclude it to find the lower solution.
    return float(brentq(beyond, 0.0, min(area, 1 - 1e-9))) if area > 0 else 0.0


def confusions(true: np.ndarray, predicted: np.ndarray, num_classes: int) -> np.ndarray:
    """Compute the confusion matrix (C, C): counts by true label (row) and predicted label (column)."""
    return confusion_matrix(true, predicted, labels=range(num_classes))


def calibration(confidence: np.ndarray, right: np.ndarray, bins: int = 10) -> list[tuple[int, float, float]]:
    """Compute the points of a reliability diagram.

    Args:
        confidence: (N,) the scores of the predicted labels, between 0 and 1.
        right: (N,) bool, whether predictions are correct.
        bins: number of score bins of equal width; empty bins are dropped.

    Returns:
        rows, mean score and fraction of correct predictions per bin, by increasing score.
    """
    group = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        (int(here.sum()), float(confidence[here].mean()), float(right[here].mean()))
        for here in (group == number for number in range(bins))
        if here.any()
    ]


def calibration_error(groups: Sequence[tuple[int, float, float]]) -> float:
    """Compute the expected calibration error of the groups of `calibration`.

    Source: Naeini et al. 2015, "Obtaining well calibrated probabilities using Bayesian binning", ECE.
    """
    return sum(rows * abs(score - fraction) for rows, score, fraction in groups) / sum(rows for rows, _, _ in groups)
