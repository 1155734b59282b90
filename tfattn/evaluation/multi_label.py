"""The evaluation of multi-label classification, for texts or rows of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import calibration_sections, permutation_importance, plots, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.feature_importance import measure_importance
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import calibration, log_loss, multi_label
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, RowFormat, best_scores
from tfattn.evaluation.wording import count, percent, percents, shown_count
from tfattn.features import IS_LABEL, LABEL_INDICATORS, LABELS, TARGET
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import MemberPredictions, SplitPredictions

MAX_LABELS = 30  # longer tables start folded
OF_LABEL = ("precision", "recall", "f1", "average_precision")


@dataclass(frozen=True)
class PredictedSets:
    """The rows of a split with true and predicted label sets.

    Args:
        row_format: the display format of the N rows.
        labels: the C labels in the order of their ids.
        true: (N, C) bool, the true labels.
        predicted_mask: (N, C) bool, the predicted labels.
        scores: (N, C).
    """

    row_format: RowFormat
    labels: Sequence[str]
    true: np.ndarray
    predicted_mask: np.ndarray
    scores: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """(N,) bool, whether exactly the true labels are predicted."""
        return (self.true == self.predicted_mask).all(axis=1)

    def names(self, has: np.ndarray) -> list[str]:
        """Return the names of the labels in a mask (C,)."""
        return [label for label, is_label in zip(self.labels, has, strict=True) if is_label]


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a multi-label classifier.

    Args:
        ensemble: the trained models of a MultiLabelClassification.
        predictions: `is_label` (N, C) and `scores` (N, C), and the target `label_indicators` (N, C).

    Returns:
        a report whose metrics are `log_loss`, those of metrics.multi_label, of warnings.accuracy_without, with a
        calibration those of calibration_sections.of_labels, with an operating point `operating_threshold`, for several
        models those of Spread, and for tables those of FeatureImportance.
    """
    true, values = predictions.targets[LABEL_INDICATORS] > 0, predictions.values
    row_format = RowFormat.of(ensemble, predictions.rows, [LABELS])
    predicted = PredictedSets(row_format, ensemble.labels, true, values[IS_LABEL], values["scores"])
    metrics = {
        "log_loss": log_loss(true, predicted.scores),
        **multi_label(true, predicted.predicted_mask, predicted.scores, predicted.labels),
    }
    metrics |= warnings.accuracy_without(predictions.leaked, predicted.right)
    calibrated = calibration_sections.of_labels(
        ensemble,
        predictions,
        true,
        groups=lambda scores: calibration(scores.ravel(), true.ravel()),
        unit=row_format.unit,
        axes={"score": "score of a label", "fraction": "fraction that has the label"},
    )
    metrics |= calibrated.metrics
    if ensemble.operating_point is not None:
        metrics["operating_threshold"] = ensemble.operating_point.threshold
    spread = Spread("subset_accuracy", {member.name: _alone(member, ensemble.labels) for member in predictions.members})
    metrics |= spread.metrics
    sections = [_per_label(predicted, metrics), *spread.sections(metrics, predictions)]
    summary = f"micro F1 {metrics['micro_f1']:.4f}, baseline {metrics['baseline_micro_f1']:.4f}"
    if ensemble.preprocessor.reads_columns:
        measure = permutation_importance.of_label_sets()
        importances = measure_importance(ensemble, predictions, true, predicted="scores", measure=measure)
        metrics |= importances.metrics
        sections.append(importances.section())
        summary = f"{summary}; {importances.summary}"
    rows = count(len(true), f"{predictions.split} {row_format.unit}")
    return TaskReport(
        question=f"what are the labels of a {row_format.unit}?",
        measured=f"{rows}, {count(len(ensemble.labels), 'label')}",
        metrics=metrics,
        predictions=_lines(predicted),
        headline=_headline(predicted, metrics, predictions, spread.facts),
        sections=[*sections, _mistakes(predicted), *calibrated.sections],
        unit=row_format.unit,
        summary=summary,
        console_table=_console_table(metrics, ensemble.labels),
    )


def _alone(member: MemberPredictions, labels: Sequence[str]) -> dict[str, float]:
    true, values = member.targets[LABEL_INDICATORS] > 0, member.values
    return multi_label(true, values[IS_LABEL], values["scores"], labels)


def _headline(
    predicted: PredictedSets, metrics: dict[str, float], predictions: SplitPredictions, of_members: dict[str, str]
) -> Headline:
    unit, rows = predicted.row_format.unit, len(predicted.true)
    weakest = min(predicted.labels, key=lambda label: metrics[f"f1/{label}"])
    low, high = metrics["subset_accuracy_low"], metrics["subset_accuracy_high"]
    return Headline(
        metric=percent(metrics["micro_f1"]),
        sentence=f"{percent(metrics['micro_precision'])} of the predicted labels are correct (precision), and "
        f"{percent(metrics['micro_recall'])} of the true labels are predicted (recall). This is the micro F1.",
        warnings=[
            *warnings.of_label_sets(metrics, predicted.labels, predicted.true, predicted.predicted_mask, unit=unit),
            *warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit=unit),
        ],
        remarks=[
            f"{predicted.right.sum():,} of {count(rows, unit)} have exactly the correct labels: "
            f"{percent(metrics['subset_accuracy'])} (95% interval {percents(low, high)}).",
            f"Baseline: always predicting the most frequent labels has a micro F1 of "
            f"{percent(metrics['baseline_micro_f1'])}.",
        ],
        facts={
            "macro F1": percent(metrics["macro_f1"]),
            "weakest label": f"{weakest}, F1 {percent(metrics[f'f1/{weakest}'])}",
            "Hamming loss": percent(metrics["hamming_loss"]),
            "micro average precision": percent(metrics["micro_average_precision"]),
            **of_members,
        },
    )


def _per_label(predicted: PredictedSets, metrics: dict[str, float]) -> Section:
    unit = predicted.row_format.unit
    rows = {label: metrics[f"support/{label}"] for label in predicted.labels}
    table = [
        [label, rows[label], *(percent(metrics[f"{name}/{label}"]) for name in OF_LABEL)] for label in predicted.labels
    ]
    scores = {label: metrics[f"f1/{label}"] for label in predicted.labels}
    notes = {label: f"({count(number, unit)})" for label, number in rows.items()}
    heads = ["label", f"{unit}s", "precision", "recall", "F1", "average precision"]
    return Section(
        "Metrics by label",
        [
            Text(
                f"Precision: the fraction of correct {unit}s among those predicted as the label. Recall: the "
                f"fraction of "
                f"correct {unit}s among those with the label. Average precision does not depend on the threshold."
            ),
            Table(heads, table, folded=f"All {len(table)} labels" if len(table) > MAX_LABELS else ""),
            Picture("f1", svg(plots.bars(scores, title="F1", notes=notes)), "F1 of each label"),
        ],
    )


def _mistakes(predicted: PredictedSets) -> Section:
    wrong = np.flatnonzero(~predicted.right)
    if not len(wrong):
        return Section("Most confident errors", [Text("There are no errors.")])
    off = np.abs(predicted.scores - predicted.true).max(axis=1)
    worst = wrong[np.argsort(-off[wrong], kind="stable")][:MAX_ERRORS_SHOWN]
    columns = {
        "missed": predicted.true & ~predicted.predicted_mask,
        "wrong": predicted.predicted_mask & ~predicted.true,
    }
    cells = {name: [", ".join(predicted.names(has[number])) for number in worst] for name, has in columns.items()}
    words = (
        f"{shown_count(len(worst), len(wrong))}, the largest score error first. The labels in the file may be wrong."
    )
    return Section("Most confident errors", [Text(words), predicted.row_format.table(worst, cells)])


def _lines(predicted: PredictedSets) -> Iterator[dict[str, Any]]:
    each = zip(
        predicted.row_format.rows,
        predicted.true,
        predicted.predicted_mask,
        predicted.right,
        predicted.scores,
        strict=True,
    )
    for row, true, predicted_mask, right, scores in each:
        yield {
            **{role: value for role, value in row.items() if role != LABELS},
            TARGET: predicted.names(true),
            "predicted": predicted.names(predicted_mask),
            "right": bool(right),
            "scores": best_scores(predicted.labels, scores),
        }


def _console_table(metrics: dict[str, float], labels: Sequence[str]) -> tuple[str, list[str], list[list[Any]]]:
    table = [[label, *(metrics[f"{name}/{label}"] for name in (*OF_LABEL, "support"))] for label in labels]
    return "Predictions by label", ["label", "precision", "recall", "f1", "average precision", "rows"], table
