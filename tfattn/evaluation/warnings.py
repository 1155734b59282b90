"""Warnings about a metric: it is no better than a guess, or the model has seen the rows."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfattn.evaluation.wording import between, count, listed, number, percent, percents
from tfattn.tasks.intervals import NORMAL_95, counted_fraction

SHOWN_ROWS = 2
OVERLAP_THRESHOLD = 0.2  # of the sources
MAX_CHARACTERS = 80
FRACTIONS = {"accuracy": "an accuracy", "f1": "an F1"}  # metrics that are shown in per cent


def of_labels(metrics: dict[str, float], labels: Sequence[str], true: np.ndarray, given: np.ndarray) -> list[str]:
    """Warn of a classifier that is no better than always predicting one label, or never predicts some labels.

    Args:
        metrics: as metrics.classification gives them; of a search for a positive label, those of metrics.detection too.
        labels: C labels.
        true: (N,) ids of the right labels.
        given: (N,) ids of the given labels.
    """
    warnings = []
    rows = np.bincount(true, minlength=len(labels))
    baseline, low, high = (metrics[name] for name in ("baseline_accuracy", "accuracy_low", "accuracy_high"))
    if baseline >= low:
        better_or_not = "worse than" if baseline > high else "not better than"
        warnings.append(
            f"The model is {better_or_not} always predicting “{labels[rows.argmax()]}”, which would be right for "
            f"{percent(baseline)}: its accuracy lies between {percents(low, high, word='and')}."
        )
        if metrics.get("roc_auc_low", 0) > 0.5:
            warnings.append(
                f"Its scores do tell the rows apart to some degree (ROC AUC {metrics['roc_auc']:.4f}): another "
                "threshold may use it better."
            )
    times = np.bincount(given, minlength=len(labels))
    never = [label for label, here, so_often in zip(labels, rows, times, strict=True) if here and not so_often]
    if never:
        warnings.append(f"It never predicts {listed(never, word='or')}.")
    return warnings


def of_numbers(metrics: dict[str, float], guess: float) -> list[str]:
    """Warn of predicted numbers that are no better than always predicting the same.

    Args:
        metrics: as metrics.regression gives them.
        guess: what is always predicted.
    """
    name = "mean_absolute_error"
    baseline, low, high = (metrics[key] for key in (f"baseline_{name}", f"{name}_low", f"{name}_high"))
    if baseline > high:
        return []
    better_or_not = "worse than" if baseline < low else "not better than"
    return [
        f"The model is {better_or_not} always predicting {number(guess)}, which would be off by {number(baseline)}: "
        f"its own mean error lies between {between(low, high, word='and')}."
    ]


def of_label_sets(
    metrics: dict[str, float], labels: Sequence[str], true: np.ndarray, given: np.ndarray, *, unit: str
) -> list[str]:
    """Warn of labels that are predicted no better than the same for all rows, or never.

    Args:
        metrics: as metrics.multi_label gives them.
        labels: C labels.
        true, given: (N, C) bool, which labels rows have, and which they got.
        unit: "text" or "row".
    """
    warnings = []
    if metrics["baseline_micro_f1"] >= metrics["micro_f1"]:
        warnings.append(
            f"The model is not better than giving every {unit} the most frequent labels, which would reach a micro F1 "
            f"of {percent(metrics['baseline_micro_f1'])}."
        )
    never = [label for label, has, got in zip(labels, true.T, given.T, strict=True) if has.any() and not got.any()]
    return warnings + ([f"It never predicts {listed(never, word='or')}."] if never else [])


def of_written(texts: Sequence[str], references: Sequence[str], metrics: dict[str, float]) -> list[str]:
    """Warn of a translator that is no better than copying the source, or writes the same for different sources.

    Args:
        texts: N texts that were written.
        references: N reference texts.
        metrics: `bleu_low`, `bleu_high`, and `baseline_bleu` of the sources themselves.
    """
    warnings = []
    baseline, low, high = (metrics[name] for name in ("baseline_bleu", "bleu_low", "bleu_high"))
    if baseline >= low:
        better_or_not = "worse than" if baseline > high else "not better than"
        warnings.append(
            f"The model is {better_or_not} copying the source, which would reach a BLEU of {baseline:.1f}: its "
            f"own lies between {between(low, high, decimals=1, word='and')}."
        )
    (text, times), (_, wanted) = (Counter(some).most_common(1)[0] for some in (texts, references))
    if times > len(texts) * OVERLAP_THRESHOLD and times > wanted:
        warnings.append(f"It writes “{text[:MAX_CHARACTERS]}” to {percent(times / len(texts))} of the sources.")
    return warnings


def of_unseen(
    leaked: np.ndarray, metrics: dict[str, float], *, split: str, unit: str, metric: str = "accuracy"
) -> list[str]:
    """Warn of metrics of rows some of which occur among the training rows.

    Args:
        leaked: (N,) bool, whether a row occurs among the training rows.
        metrics: hold `METRIC_without_leaked` with its interval, where some rows are left.
        split: "validation" or "test".
        unit: "text" or "row".
        metric: the metric that is shown for the other rows.
    """
    if not leaked.any():
        return []
    said = (
        f"{leaked.sum():,} of the {count(len(leaked), f'{split} {unit}')} ({percent(leaked.mean())}) are training rows "
        "too, which the model may have memorized"
    )
    if leaked.all():
        return [f"{said}: the metrics say nothing about new {unit}s."]
    name = f"{metric}_without_leaked"
    low, high = metrics[f"{name}_low"], metrics[f"{name}_high"]
    if metric == "mean_absolute_error":
        without = f"a mean error of {number(metrics[name])} ({between(low, high)})"
    elif metric in FRACTIONS:
        without = f"{FRACTIONS[metric]} of {percent(metrics[name])} ({percents(low, high)})"
    else:
        without = f"{metric.upper()} {metrics[name]:.1f} ({between(low, high, decimals=1)})"
    return [f"{said}: the metrics may be too good for new {unit}s. Without them: {without}."]


def of_data(summary: dict[str, Any], *, unit: str) -> list[str]:
    """Warn of metrics of data in which equal rows have different labels, by the summary of the prepared data."""
    rows = summary.get("conflicts", {}).get("rows", 0)
    if not rows:
        return []
    such = ", ".join(summary["conflicts"]["first"][:SHOWN_ROWS])
    return [
        f"{count(rows, unit)} of the data occur with different labels, such as {such}: no model can be right "
        "about all of them."
    ]


def accuracy_without(leaked: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Count the leaked rows and, if there are others too, compute the accuracy of those with its interval."""
    metrics: dict[str, float] = {"leaked_rows": int(leaked.sum())}
    if leaked.any() and not leaked.all():
        metrics |= counted_fraction("accuracy_without_leaked", int(right[~leaked].sum()), int((~leaked).sum()))
    return metrics


def error_without(leaked: np.ndarray, errors: np.ndarray) -> dict[str, float]:
    """How many rows are leaked and, where there are others too, the mean error of these with its 95 % interval.

    Args:
        leaked: (N,) bool, which they are.
        errors: (N,) of the predictions, none negative.
    """
    metrics: dict[str, float] = {"leaked_rows": int(leaked.sum())}
    if leaked.any() and not leaked.all():
        others = errors[~leaked]
        mean, half = float(others.mean()), NORMAL_95 * float(others.std()) / len(others) ** 0.5
        name = "mean_absolute_error_without_leaked"
        metrics |= {name: mean, f"{name}_low": max(0.0, mean - half), f"{name}_high": mean + half}
    return metrics
