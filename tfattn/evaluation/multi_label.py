"""The evaluation of predictions of any number of labels, for texts or rows of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import importance, plots, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.feature_importance import measure_importance
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import log_loss, multi_label
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import WORST_MISTAKES, RowFormat, best_scores
from tfattn.evaluation.wording import count, percent, percents, shown_of
from tfattn.features import IS_LABEL, LABEL_INDICATORS, LABELS, TARGET
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import MemberPredictions, SplitPredictions

MAX_LABELS = 30  # of more, tables start folded
OF_LABEL = ("precision", "recall", "f1", "average_precision")


@dataclass(frozen=True)
class PredictedSets:
    """Every row of a split with the labels that it has and those that it got.

    Args:
        listed: the N rows, as they are shown.
        labels: the C labels in the order of their ids.
        true: (N, C) bool, whether a row has a label.
        given: (N, C) bool, whether it got it.
        scores: (N, C).
    """

    listed: RowFormat
    labels: Sequence[str]
    true: np.ndarray
    given: np.ndarray
    scores: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """(N,) whether a row got exactly its labels."""
        return (self.true == self.given).all(axis=1)

    def names(self, has: np.ndarray) -> list[str]:
        """Name the labels that a row has, of (C,) bool."""
        return [label for label, is_label in zip(self.labels, has, strict=True) if is_label]


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Measure predictions of any number of labels.

    Args:
        ensemble: whose task is a MultiLabelClassification.
        predictions: `is_label` (N, C) and `scores` (N, C), and the target `label_indicators` (N, C).

    Returns:
        a report whose metrics are `log_loss`, those of metrics.multi_label, of warnings.accuracy_without, of several
        models those of Spread, and of tables those of FeatureImportance.
    """
    true, values = predictions.targets[LABEL_INDICATORS] > 0, predictions.values
    listed = RowFormat.of(ensemble, predictions.rows, [LABELS])
    predicted = PredictedSets(listed, ensemble.labels, true, values[IS_LABEL], values["scores"])
    metrics = {
        "log_loss": log_loss(true, predicted.scores),
        **multi_label(true, predicted.given, predicted.scores, predicted.labels),
    }
    metrics |= warnings.accuracy_without(predictions.leaked, predicted.right)
    spread = Spread("subset_accuracy", {one.name: _alone(one, ensemble.labels) for one in predictions.members})
    metrics |= spread.metrics
    sections = [_per_label(predicted, metrics), *spread.sections(metrics, predictions)]
    summary = f"micro F1 {metrics['micro_f1']:.4f}, baseline {metrics['baseline_micro_f1']:.4f}"
    if ensemble.preprocessor.reads_columns:
        measure = importance.of_label_sets()
        importances = measure_importance(ensemble, predictions, true, predicted="scores", measure=measure)
        metrics |= importances.metrics
        sections.append(importances.section())
        summary = f"{summary}; {importances.summary}"
    return TaskReport(
        question=f"which labels does a {listed.unit} get?",
        measured=f"{count(len(true), f'{predictions.split} {listed.unit}')}, {count(len(ensemble.labels), 'label')}",
        metrics=metrics,
        predictions=_lines(predicted),
        headline=_headline(predicted, metrics, predictions, spread.facts),
        sections=[*sections, _mistakes(predicted)],
        unit=listed.unit,
        summary=summary,
        console_table=_console_table(metrics, ensemble.labels),
    )


def _alone(member: MemberPredictions, labels: Sequence[str]) -> dict[str, float]:
    true, values = member.targets[LABEL_INDICATORS] > 0, member.values
    return multi_label(true, values[IS_LABEL], values["scores"], labels)


def _headline(
    predicted: PredictedSets, metrics: dict[str, float], predictions: SplitPredictions, of_members: dict[str, str]
) -> Headline:
    unit, rows = predicted.listed.unit, len(predicted.true)
    weakest = min(predicted.labels, key=lambda label: metrics[f"f1/{label}"])
    low, high = metrics["subset_accuracy_low"], metrics["subset_accuracy_high"]
    return Headline(
        metric=percent(metrics["micro_f1"]),
        sentence=f"Of all labels given, {percent(metrics['micro_precision'])} are right, and of all labels that there "
        f"are, {percent(metrics['micro_recall'])} are given (micro F1 {percent(metrics['micro_f1'])}).",
        warnings=[
            *warnings.of_label_sets(metrics, predicted.labels, predicted.true, predicted.given, unit=unit),
            *warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit=unit),
        ],
        remarks=[
            f"{predicted.right.sum():,} of {count(rows, unit)} got exactly their labels: "
            f"{percent(metrics['subset_accuracy'])} (95% interval {percents(low, high)}).",
            f"Giving every {unit} the most frequent labels would reach a micro F1 of "
            f"{percent(metrics['baseline_micro_f1'])}.",
        ],
        facts={
            "mean F1 of the labels": percent(metrics["macro_f1"]),
            "weakest label": f"{weakest}, F1 {percent(metrics[f'f1/{weakest}'])}",
            "wrong decisions, of all labels and rows": percent(metrics["hamming_loss"]),
            "average precision of the scores": percent(metrics["micro_average_precision"]),
            **of_members,
        },
    )


def _per_label(predicted: PredictedSets, metrics: dict[str, float]) -> Section:
    unit = predicted.listed.unit
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
                f"Found: of the {unit}s with this label, how many got it. Reliable: of the {unit}s that got it, how "
                "many should have. Average precision looks at the scores, whatever the threshold."
            ),
            Table(heads, table, folded=f"All {len(table)} labels" if len(table) > MAX_LABELS else ""),
            Picture("f1", svg(plots.bars(scores, title="F1", notes=notes)), "F1 of each label"),
        ],
    )


def _mistakes(predicted: PredictedSets) -> Section:
    wrong = np.flatnonzero(~predicted.right)
    if not len(wrong):
        return Section("Worst mistakes", [Text("There are none: every row got exactly its labels.")])
    off = np.abs(predicted.scores - predicted.true).max(axis=1)
    worst = wrong[np.argsort(-off[wrong], kind="stable")][:WORST_MISTAKES]
    columns = {
        "missed": predicted.true & ~predicted.given,
        "given wrongly": predicted.given & ~predicted.true,
    }
    cells = {name: [", ".join(predicted.names(has[number])) for number in worst] for name, has in columns.items()}
    words = f"{shown_of(len(worst), len(wrong))}, the worst first: at times it is the file that is wrong."
    return Section("Worst mistakes", [Text(words), predicted.listed.table(worst, cells)])


def _lines(predicted: PredictedSets) -> Iterator[dict[str, Any]]:
    each = zip(predicted.listed.rows, predicted.true, predicted.given, predicted.right, predicted.scores, strict=True)
    for row, true, given, right, scores in each:
        yield {
            **{role: value for role, value in row.items() if role != LABELS},
            TARGET: predicted.names(true),
            "predicted": predicted.names(given),
            "right": bool(right),
            "scores": best_scores(predicted.labels, scores),
        }


def _console_table(metrics: dict[str, float], labels: Sequence[str]) -> tuple[str, list[str], list[list[Any]]]:
    table = [[label, *(metrics[f"{name}/{label}"] for name in (*OF_LABEL, "support"))] for label in labels]
    return "Predictions by label", ["label", "precision", "recall", "f1", "average precision", "rows"], table
