"""Warnings about metrics: no better than a baseline, or measured on training rows."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfattn.evaluation.wording import between, count, number, percent, percents, quoted_list
from tfattn.tasks.intervals import NORMAL_95, counted_fraction

SHOWN_ROWS = 2
OVERLAP_THRESHOLD = 0.2  # of the sources
MAX_CHARACTERS = 80
# Metrics in per cent, with article.
FRACTIONS = {
    "accuracy": "an accuracy",
    "f1": "an F1",
    "ndcg_at_10": "an nDCG@10",
    "spearman": "a Spearman correlation",
}


def of_labels(
    metrics: dict[str, float], labels: Sequence[str], true: np.ndarray, predicted_ids: np.ndarray
) -> list[str]:
    """Warn of a classifier that is no better than always predicting one label, or never predicts some labels.

    Args:
        metrics: see metrics.classification; with a positive label also metrics.detection.
        labels: C labels.
        true: (N,) ids of the true labels.
        predicted_ids: (N,) ids of the predicted labels.
    """
    warnings = []
    rows = np.bincount(true, minlength=len(labels))
    baseline, low, high = (metrics[name] for name in ("baseline_accuracy", "accuracy_low", "accuracy_high"))
    if baseline >= low:
        better_or_not = "worse than" if baseline > high else "not better than"
        warnings.append(
            f"The model is {better_or_not} always predicting “{labels[rows.argmax()]}”, which has an accuracy of "
            f"{percent(baseline)}: the accuracy of the model is between {percents(low, high, word='and')}."
        )
        if metrics.get("roc_auc_low", 0) > 0.5:
            warnings.append(
                f"Its scores separate the rows to some degree (ROC AUC {metrics['roc_auc']:.4f}): another "
                "threshold may work better."
            )
    times = np.bincount(predicted_ids, minlength=len(labels))
    never = [
        label for label, here, count_of_label in zip(labels, rows, times, strict=True) if here and not count_of_label
    ]
    if never:
        warnings.append(f"It never predicts {quoted_list(never, word='or')}.")
    return warnings


def of_numbers(metrics: dict[str, float], guess: float) -> list[str]:
    """Warn of predicted numbers that are no better than a constant.

    Args:
        metrics: see metrics.regression.
        guess: the constant.
    """
    name = "mean_absolute_error"
    baseline, low, high = (metrics[key] for key in (f"baseline_{name}", f"{name}_low", f"{name}_high"))
    if baseline > high:
        return []
    better_or_not = "worse than" if baseline < low else "not better than"
    return [
        f"The model is {better_or_not} always predicting {number(guess)}, which has a mean error of "
        f"{number(baseline)}: "
        f"the mean error of the model is between {between(low, high, word='and')}."
    ]


def of_label_sets(
    metrics: dict[str, float], labels: Sequence[str], true: np.ndarray, predicted_ids: np.ndarray, *, unit: str
) -> list[str]:
    """Warn of label sets that are no better than the same labels for all rows, and of labels that are never predicted.

    Args:
        metrics: see metrics.multi_label.
        labels: C labels.
        true, predicted_ids: (N, C) bool, true and predicted labels.
        unit: "text" or "row".
    """
    warnings = []
    if metrics["baseline_micro_f1"] >= metrics["micro_f1"]:
        warnings.append(
            f"The model is not better than always predicting the most frequent labels, which has a micro F1 "
            f"of {percent(metrics['baseline_micro_f1'])}."
        )
    never = [
        label for label, has, got in zip(labels, true.T, predicted_ids.T, strict=True) if has.any() and not got.any()
    ]
    return warnings + ([f"It never predicts {quoted_list(never, word='or')}."] if never else [])


def of_written(texts: Sequence[str], references: Sequence[str], metrics: dict[str, float]) -> list[str]:
    """Warn of a translator that is no better than copying the source, or repeats the same text.

    Args:
        texts: N generated texts.
        references: N reference texts.
        metrics: `bleu_low`, `bleu_high`, and `baseline_bleu` of the sources themselves.
    """
    warnings = []
    baseline, low, high = (metrics[name] for name in ("baseline_bleu", "bleu_low", "bleu_high"))
    if baseline >= low:
        better_or_not = "worse than" if baseline > high else "not better than"
        warnings.append(
            f"The model is {better_or_not} copying the source, which has a BLEU of {baseline:.1f}: the BLEU "
            f"of the model is between {between(low, high, decimals=1, word='and')}."
        )
    (text, times), (_, wanted) = (Counter(column).most_common(1)[0] for column in (texts, references))
    if times > len(texts) * OVERLAP_THRESHOLD and times > wanted:
        warnings.append(f"It generates “{text[:MAX_CHARACTERS]}” for {percent(times / len(texts))} of the sources.")
    return warnings


def of_unseen(
    leaked: np.ndarray, metrics: dict[str, float], *, split: str, unit: str, metric: str = "accuracy"
) -> list[str]:
    """Warn of metrics on rows that are also training rows.

    Args:
        leaked: (N,) bool, whether a row is also a training row.
        metrics: contain `METRIC_without_leaked` with its interval, unless all rows are leaked.
        split: "validation" or "test".
        unit: "text" or "row".
        metric: the metric to report without leaked rows.
    """
    if not leaked.any():
        return []
    leaked_rows = int(leaked.sum())
    warning = (
        f"{leaked_rows:,} of the {count(len(leaked), f'{split} {unit}')} ({percent(leaked.mean())}) "
        f"{'is also a training row' if leaked_rows == 1 else 'are also training rows'}, which the model may have "
        "memorized"
    )
    if leaked.all():
        return [f"{warning}: the metrics say nothing about new {unit}s."]
    name = f"{metric}_without_leaked"
    low, high = metrics[f"{name}_low"], metrics[f"{name}_high"]
    if metric == "mean_absolute_error":
        without = f"a mean error of {number(metrics[name])} ({between(low, high)})"
    elif metric == "ndcg_at_10":
        without = f"an nDCG@10 of {metrics[name]:.4f} ({between(low, high)})"
    elif metric in FRACTIONS:
        without = f"{FRACTIONS[metric]} of {percent(metrics[name])} ({percents(low, high)})"
    else:
        without = f"{metric.upper()} {metrics[name]:.1f} ({between(low, high, decimals=1)})"
    return [f"{warning}: the metrics may be too good for new {unit}s. Without them: {without}."]


def of_data(summary: dict[str, Any], *, unit: str) -> list[str]:
    """Warn of equal rows with different labels, by the summary of the prepared data."""
    rows = summary.get("conflicts", {}).get("rows", 0)
    if not rows:
        return []
    examples = ", ".join(summary["conflicts"]["first"][:SHOWN_ROWS])
    return [
        f"{count(rows, unit)} of the data {'occurs' if rows == 1 else 'occur'} with different labels, such as "
        f"{examples}: no model can predict all of them correctly."
    ]


def accuracy_without(leaked: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Return the number of leaked rows, and the accuracy of the other rows with its interval."""
    metrics: dict[str, float] = {"leaked_rows": int(leaked.sum())}
    if leaked.any() and not leaked.all():
        metrics |= counted_fraction("accuracy_without_leaked", int(right[~leaked].sum()), int((~leaked).sum()))
    return metrics


def error_without(leaked: np.ndarray, errors: np.ndarray) -> dict[str, float]:
    """Return the number of leaked rows, and the mean error of the other rows with its interval.

    Args:
        leaked: (N,) bool, whether a row is also a training row.
        errors: (N,) absolute errors.
    """
    metrics: dict[str, float] = {"leaked_rows": int(leaked.sum())}
    if leaked.any() and not leaked.all():
        others = errors[~leaked]
        mean, half = float(others.mean()), NORMAL_95 * float(others.std()) / len(others) ** 0.5
        name = "mean_absolute_error_without_leaked"
        metrics |= {name: mean, f"{name}_low": max(0.0, mean - half), f"{name}_high": mean + half}
    return metrics
