"""The evaluation of a classifier: how often it is right, what it confuses, where it is wrong and sure of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import calibration, calibration_error, classification, confusions, log_loss
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import WORST_MISTAKES, LabelPredictions, label_line
from tfattn.evaluation.wording import count, percent, percents, shown_of
from tfattn.features import IMAGE, LABEL, LABEL_IDS
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SHOWN_CONFUSIONS = 10
HIGH_CONFIDENCE = 0.9
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
MAX_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class PredictedRows(LabelPredictions):
    """Every text or image of a split with its true and its predicted label; see LabelPredictions."""

    @staticmethod
    def of(ensemble: TrainedEnsemble, predictions: SplitPredictions, *, unit: str) -> "PredictedRows":
        """Take what was predicted for the rows of a split."""
        return PredictedRows(
            rows=predictions.rows,
            labels=ensemble.labels,
            true=predictions.targets[LABEL_IDS],
            given=predictions.values[LABEL_IDS],
            scores=predictions.values["scores"],
            leaked=predictions.leaked,
            unit=unit,
        )

    @property
    def indefinite_noun(self) -> str:
        """The unit with its article."""
        return f"{'an' if self.unit[0] in 'aeiou' else 'a'} {self.unit}"

    @property
    def ranked_mistakes(self) -> list[tuple[int, int, int]]:
        """The pairs of a true label and another that was given, the most frequent first, and how often that was."""
        counts = confusions(self.true, self.given, len(self.labels))
        mistakes = counts - np.diag(counts.diagonal())
        ranked = [divmod(place, len(counts)) for place in np.argsort(-mistakes, axis=None, kind="stable")]
        return [(int(true), int(given), int(n)) for true, given in ranked if (n := mistakes[true, given])]

    def text(self, number: int) -> str:
        """Return the text of a row, or its texts, as a page can show them."""
        text = " | ".join(value for key, value in self.rows[number].items() if key not in ("row", LABEL))
        return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Measure a classifier of texts.

    Args:
        ensemble: whose `labels` are given.
        predictions: `label_ids` (N,) and `scores` (N, C).

    Returns:
        a report whose metrics are `log_loss`, those of metrics.classification, `calibration_error`, those of
        warnings.accuracy_without; of several models those of Spread.
    """
    predicted = PredictedRows.of(ensemble, predictions, unit="text")
    return measured(predicted, predictions, mistakes=[_mistakes(predicted)])


def measured(
    predicted: PredictedRows,
    predictions: SplitPredictions,
    *,
    mistakes: Sequence[Section],
    more: dict[str, float] | None = None,
) -> TaskReport:
    """Measure what was predicted.

    Args:
        predicted: every row.
        predictions: where that was taken from.
        mistakes: sections that show some of them.
        more: further metrics.
    """
    metrics = {
        "log_loss": log_loss(predicted.true, predicted.scores),
        **classification(predicted.true, predicted.given, predicted.labels),
    }
    groups = calibration(predicted.confidence, predicted.right)
    metrics["calibration_error"] = calibration_error(groups)
    metrics |= warnings.accuracy_without(predicted.leaked, predicted.right)
    each = ((one.name, one.targets[LABEL_IDS], one.values[LABEL_IDS]) for one in predictions.members)
    spread = Spread("accuracy", {name: classification(*ids, predicted.labels) for name, *ids in each})
    metrics |= spread.metrics | (more or {})
    rows = count(len(predicted.rows), f"{predictions.split} {predicted.unit}")
    return TaskReport(
        question=f"which label does {predicted.indefinite_noun} get?",
        measured=f"{rows}, {count(len(predicted.labels), 'label')}",
        metrics=metrics,
        predictions=_lines(predicted),
        headline=_headline(predicted, metrics, predictions.split, spread.facts),
        sections=[
            _per_label(predicted, metrics),
            _confused(predicted),
            *spread.sections(metrics, predictions),
            *mistakes,
            _certainty(predicted, groups),
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
    right_if_sure = f", {percent(predicted.right[sure].mean())} right" if sure.any() else ""
    return Headline(
        metric=percent(metrics["accuracy"]),
        sentence=f"{predicted.right.sum():,} of {count(rows, predicted.unit)} got the right label.",
        warnings=[
            *warnings.of_labels(metrics, predicted.labels, predicted.true, predicted.given),
            *warnings.of_unseen(predicted.leaked, metrics, split=split, unit=predicted.unit),
        ],
        remarks=[
            f"Always predicting “{most_frequent}” would be right for {percent(metrics['baseline_accuracy'])}.",
            f"With so many {predicted.unit}s the true fraction lies between "
            f"{percents(metrics['accuracy_low'], metrics['accuracy_high'], word='and')} (95% interval); a difference "
            "smaller than that may be chance.",
        ],
        facts={
            "mistakes": f"{rows - predicted.right.sum():,} of {rows:,}",
            "mean F1 of the labels": percent(metrics["macro_f1"]),
            "weakest label": f"{weakest}, F1 {percent(metrics[f'f1/{weakest}'])}",
            f"predictions with a score of at least {HIGH_CONFIDENCE:.0%}": f"{percent(sure.mean())}{right_if_sure}",
            **of_members,
        },
    )


def _per_label(predicted: PredictedRows, metrics: dict[str, float]) -> Section:
    rows = {label: metrics[f"support/{label}"] for label in predicted.labels}
    scores = {label: metrics[f"f1/{label}"] for label in predicted.labels}
    notes = {label: f"({count(n, predicted.unit)})" for label, n in rows.items()}
    parts = [
        Text(
            f"Recall: the fraction of the {predicted.unit}s with this label that got it. Precision: the fraction of "
            f"the {predicted.unit}s that got this label that have it. F1 is high only where both are."
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
        [predicted.labels[true], predicted.labels[given], times, percent(times / sizes[true])]
        for true, given, times in predicted.ranked_mistakes[:SHOWN_CONFUSIONS]
    ]
    heads = ["true label", "predicted label", f"{predicted.unit}s", f"of its {predicted.unit}s"]
    return Section("Confusion matrix", [*predicted.confusion_matrix(), *([Table(heads, table)] if table else [])])


def _mistakes(predicted: PredictedRows) -> Section:
    worst = predicted.wrong[:WORST_MISTAKES]
    if not len(worst):
        return Section("Worst mistakes", [Text("There are none: every text got the right label.")])
    table = [
        [
            predicted.text(number),
            predicted.labels[predicted.true[number]],
            predicted.labels[predicted.given[number]],
            percent(predicted.confidence[number]),
            predicted.rows[number]["row"].rpartition(":")[2],
        ]
        for number in worst
    ]
    words = (
        f"{shown_of(len(worst), len(predicted.wrong))}, the most certain first: at times it is the file that is wrong."
    )
    return Section(
        "Worst mistakes", [Text(words), Table(["text", "true label", "predicted label", "score", "line"], table)]
    )


def _certainty(predicted: PredictedRows, groups: Sequence[tuple[int, float, float]]) -> Section:
    table = [
        [f"{threshold:.0%}", int(sure.sum()), percent(sure.mean()), percent(predicted.right[sure].mean())]
        for threshold in THRESHOLDS
        if (sure := predicted.confidence >= threshold).any()
    ]
    if table:
        words = "Accuracy if only predictions with a high score are used:"
        kept = [
            Text(words),
            Table(["score at least", f"{predicted.unit}s", "fraction of all", "accuracy of these"], table),
        ]
    else:
        kept = [Text(f"Every prediction has a score; none is {THRESHOLDS[0]:.0%} or more.")]
    return Section(
        "Confidence",
        [
            *kept,
            Text("A score is the fraction of correct predictions where its dot is on the dashed line."),
            Picture("calibration", svg(plots.reliability(groups)), "fraction of correct predictions by score"),
        ],
    )


def _lines(predicted: PredictedRows) -> Iterator[dict[str, Any]]:
    rows = ({key: value for key, value in row.items() if key != IMAGE} for row in predicted.rows)
    each = zip(rows, predicted.true, predicted.given, predicted.scores, strict=True)
    return (label_line(row, predicted.labels, true=true, given=given, scores=own) for row, true, given, own in each)


def _console_table(metrics: dict[str, float], labels: Sequence[str]) -> tuple[str, list[str], list[list[Any]]]:
    table = [
        [label, *(metrics[f"{name}/{label}"] for name in ("precision", "recall", "f1", "support"))] for label in labels
    ]
    means = [metrics[f"macro_{name}"] for name in ("precision", "recall", "f1")]
    total = sum(metrics[f"support/{label}"] for label in labels)
    return "Predictions by label", ["label", "precision", "recall", "f1", "rows"], [*table, ["mean", *means, total]]
