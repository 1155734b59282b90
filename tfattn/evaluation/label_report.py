"""The report of a classifier: metrics, confusion matrix, confident errors, calibration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import calibration_sections, plots, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import calibration, calibration_error, classification, confusions, log_loss
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import LabelPredictions, label_line
from tfattn.evaluation.wording import count, percent, percents
from tfattn.features import ID, IMAGE, LABEL, LABEL_IDS
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SHOWN_CONFUSIONS = 10
HIGH_CONFIDENCE = 0.9
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
MAX_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class PredictedRows(LabelPredictions):
    """The texts or images of a split with true and predicted labels; see LabelPredictions."""

    @staticmethod
    def of(ensemble: TrainedEnsemble, predictions: SplitPredictions, *, unit: str) -> "PredictedRows":
        """Return the predictions of a split."""
        return PredictedRows(
            rows=predictions.rows,
            labels=ensemble.labels,
            true=predictions.targets[LABEL_IDS],
            predicted_ids=predictions.values[LABEL_IDS],
            scores=predictions.values["scores"],
            leaked=predictions.leaked,
            unit=unit,
        )

    @property
    def indefinite_noun(self) -> str:
        """The unit with its indefinite article."""
        return f"{'an' if self.unit[0] in 'aeiou' else 'a'} {self.unit}"

    @property
    def ranked_mistakes(self) -> list[tuple[int, int, int]]:
        """(true id, predicted id, count) of all confusions, the most frequent first."""
        counts = confusions(self.true, self.predicted_ids, len(self.labels))
        mistakes = counts - np.diag(counts.diagonal())
        ranked = [divmod(index, len(counts)) for index in np.argsort(-mistakes, axis=None, kind="stable")]
        return [
            (int(true), int(predicted_ids), int(n))
            for true, predicted_ids in ranked
            if (n := mistakes[true, predicted_ids])
        ]

    def text(self, number: int) -> str:
        """Return the text of a row, or its joined texts, truncated for display."""
        text = " | ".join(value for key, value in self.rows[number].items() if key not in ("row", ID, LABEL))
        return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


def label_report(
    ensemble: TrainedEnsemble,
    predicted: PredictedRows,
    predictions: SplitPredictions,
    *,
    mistakes: Sequence[Section],
    more: dict[str, float] | None = None,
) -> TaskReport:
    """Build the report of a classifier.

    Args:
        ensemble: the trained models.
        predicted: the predictions, as rows.
        predictions: the predictions, as arrays.
        mistakes: sections that show errors.
        more: additional metrics.

    Returns:
        a report whose metrics are `log_loss`, the metrics of metrics.classification, `calibration_error`, the metrics
        of warnings.accuracy_without, with a calibration those of calibration_sections.of_labels, and for several models
        those of Spread.
    """
    metrics = {
        "log_loss": log_loss(predicted.true, predicted.scores),
        **classification(predicted.true, predicted.predicted_ids, predicted.labels),
    }
    groups = calibration(predicted.confidence, predicted.right)
    metrics["calibration_error"] = calibration_error(groups)
    calibrated = calibration_sections.of_labels(
        ensemble,
        predictions,
        predicted.true,
        groups=lambda scores: calibration(replace(predicted, scores=scores).confidence, predicted.right),
        unit=predicted.unit,
    )
    metrics |= calibrated.metrics
    metrics |= warnings.accuracy_without(predicted.leaked, predicted.right)
    each = ((member.name, member.targets[LABEL_IDS], member.values[LABEL_IDS]) for member in predictions.members)
    spread = Spread("accuracy", {name: classification(*ids, predicted.labels) for name, *ids in each})
    metrics |= spread.metrics | (more or {})
    rows = count(len(predicted.rows), f"{predictions.split} {predicted.unit}")
    return TaskReport(
        question=f"what is the label of {predicted.indefinite_noun}?",
        measured=f"{rows}, {count(len(predicted.labels), 'label')}",
        metrics=metrics,
        predictions=calibrated.lines(_lines(predicted)),
        headline=_headline(predicted, metrics, predictions.split, spread.facts | calibrated.facts),
        sections=[
            _per_label(predicted, metrics),
            _confused(predicted),
            *spread.sections(metrics, predictions),
            *mistakes,
            _certainty(predicted, groups),
            *calibrated.sections,
        ],
        unit=predicted.unit,
        console_table=_console_table(metrics, predicted.labels),
        summary=f"accuracy {metrics['accuracy']:.4f} (95% interval {metrics['accuracy_low']:.4f} to "
        f"{metrics['accuracy_high']:.4f}), baseline {metrics['baseline_accuracy']:.4f}",
    )


def _headline(predicted: PredictedRows, metrics: dict[str, float], split: str, of_members: dict[str, str]) -> Headline:
    rows = len(predicted.rows)
    most_frequent = predicted.labels[np.bincount(predicted.true, minlength=len(predicted.labels)).argmax()]
    weakest = min(predicted.labels, key=lambda label: metrics[f"f1/{label}"])
    sure = predicted.confidence >= HIGH_CONFIDENCE
    accuracy_if_sure = f", accuracy {percent(predicted.right[sure].mean())}" if sure.any() else ""
    return Headline(
        metric=percent(metrics["accuracy"]),
        sentence=f"{predicted.right.sum():,} of {count(rows, predicted.unit)} have the correct label.",
        warnings=[
            *warnings.of_labels(metrics, predicted.labels, predicted.true, predicted.predicted_ids),
            *warnings.of_unseen(predicted.leaked, metrics, split=split, unit=predicted.unit),
        ],
        remarks=[
            f"Baseline: always predicting “{most_frequent}” has an accuracy of "
            f"{percent(metrics['baseline_accuracy'])}.",
            f"The 95% confidence interval of the accuracy is "
            f"{percents(metrics['accuracy_low'], metrics['accuracy_high'])}. Smaller differences may be chance.",
        ],
        facts={
            "errors": f"{rows - predicted.right.sum():,} of {rows:,}",
            "macro F1": percent(metrics["macro_f1"]),
            "weakest label": f"{weakest}, F1 {percent(metrics[f'f1/{weakest}'])}",
            f"predictions with a score of at least {HIGH_CONFIDENCE:.0%}": f"{percent(sure.mean())}{accuracy_if_sure}",
            **of_members,
        },
    )


def _per_label(predicted: PredictedRows, metrics: dict[str, float]) -> Section:
    rows = {label: metrics[f"support/{label}"] for label in predicted.labels}
    scores = {label: metrics[f"f1/{label}"] for label in predicted.labels}
    notes = {label: f"({count(n, predicted.unit)})" for label, n in rows.items()}
    parts = [
        Text(
            f"Precision: the fraction of correct {predicted.unit}s among those predicted as the label. Recall: the "
            f"fraction of correct {predicted.unit}s among those with the label. F1: their harmonic mean."
        ),
        predicted.table(metrics),
        Picture(
            "f1",
            svg(plots.bars(scores, title="F1", notes=notes)),
            "F1 of each label",
        ),
    ]
    return Section("Metrics by label", parts)


def _confused(predicted: PredictedRows) -> Section:
    sizes = np.bincount(predicted.true, minlength=len(predicted.labels))
    table = [
        [predicted.labels[true], predicted.labels[other], times, percent(times / sizes[true])]
        for true, other, times in predicted.ranked_mistakes[:SHOWN_CONFUSIONS]
    ]
    heads = ["true label", "predicted label", f"{predicted.unit}s", "fraction of the true label"]
    return Section("Confusion matrix", [*predicted.confusion_matrix(), *([Table(heads, table)] if table else [])])


def _certainty(predicted: PredictedRows, groups: Sequence[tuple[int, float, float]]) -> Section:
    table = [
        [f"{threshold:.0%}", int(sure.sum()), percent(sure.mean()), percent(predicted.right[sure].mean())]
        for threshold in THRESHOLDS
        if (sure := predicted.confidence >= threshold).any()
    ]
    if table:
        words = "Accuracy of the predictions with a minimum score:"
        kept = [
            Text(words),
            Table(["score at least", f"{predicted.unit}s", "coverage", "accuracy"], table),
        ]
    else:
        kept = [Text(f"No prediction has a score of {THRESHOLDS[0]:.0%} or more.")]
    return Section(
        "Confidence",
        [
            *kept,
            Text("Scores are calibrated if the dots are on the dashed line."),
            Picture("calibration", svg(plots.reliability(groups)), "fraction of correct predictions by score"),
        ],
    )


def _lines(predicted: PredictedRows) -> Iterator[dict[str, Any]]:
    rows = ({key: value for key, value in row.items() if key != IMAGE} for row in predicted.rows)
    each = zip(rows, predicted.true, predicted.predicted_ids, predicted.scores, strict=True)
    return (
        label_line(row, predicted.labels, true=true, predicted_id=predicted_id, scores=own)
        for row, true, predicted_id, own in each
    )


def _console_table(metrics: dict[str, float], labels: Sequence[str]) -> tuple[str, list[str], list[list[Any]]]:
    table = [
        [label, *(metrics[f"{name}/{label}"] for name in ("precision", "recall", "f1", "support"))] for label in labels
    ]
    means = [metrics[f"macro_{name}"] for name in ("precision", "recall", "f1")]
    total = sum(metrics[f"support/{label}"] for label in labels)
    return "Predictions by label", ["label", "precision", "recall", "f1", "rows"], [*table, ["mean", *means, total]]
