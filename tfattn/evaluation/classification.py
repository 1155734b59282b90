"""The evaluation of a classifier: how often it is right, what it confuses, where it is wrong and sure of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import doubts, plots
from tfattn.evaluation.chosen import WORST_MISTAKES, Chosen
from tfattn.evaluation.evaluate import Findings
from tfattn.evaluation.label_lines import label_line
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import calibration, calibration_error, classification, confusions
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.wording import count, percent, percents, shown_of
from tfattn.features import LABEL, LABEL_IDS
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

SHOWN_CONFUSIONS = 10
MOST_LABELS = 30  # of more, tables start folded
SURE = 0.9
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
MOST_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class PredictedTexts(Chosen):
    """Every row of a split with what it is and what was predicted.

    Args:
        rows: N raw rows: `row` (file:line), `label`, and one or more texts.
        labels: the C labels in the order of their ids.
        true, given, scores: see Chosen.
        leaked: (N,) whether a training row repeats the row.
    """

    labels: Sequence[str]
    leaked: np.ndarray

    def text(self, number: int) -> str:
        """Return the text of a row, or its texts, as a page can show them."""
        text = " | ".join(value for key, value in self.rows[number].items() if key not in ("row", LABEL))
        return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> Findings:
    """Measures a classifier of texts.

    Args:
        ensemble: whose `labels` are given.
        predictions: `label_ids` (N,) and `scores` (N, C).

    Returns:
        findings whose metrics are `loss`, those of metrics.classification, `calibration_error`, those of
        doubts.accuracy_without; of several models those of Spread.
    """
    predicted = PredictedTexts(
        rows=predictions.rows,
        labels=ensemble.labels,
        true=predictions.targets[LABEL_IDS],
        given=predictions.values[LABEL_IDS],
        scores=predictions.values["scores"],
        leaked=predictions.leaked,
    )
    metrics = {"loss": predictions.loss, **classification(predicted.true, predicted.given, predicted.labels)}
    groups = calibration(predicted.confidence, predicted.right)
    metrics["calibration_error"] = calibration_error(groups)
    metrics |= doubts.accuracy_without(predicted.leaked, predicted.right)
    each = ((one.name, one.targets[LABEL_IDS], one.values[LABEL_IDS]) for one in predictions.members)
    spread = Spread("accuracy", {name: classification(*ids, predicted.labels) for name, *ids in each})
    metrics |= spread.metrics
    texts = count(len(predicted.rows), f"{predictions.split} text")
    return Findings(
        question="which label does a text get?",
        measured=f"{texts}, {count(len(predicted.labels), 'label')}",
        metrics=metrics,
        predictions=_lines(predicted),
        headline=_headline(predicted, metrics, predictions.split, spread.facts),
        sections=[
            _per_label(predicted, metrics),
            _confused(predicted),
            *spread.sections(metrics, predictions),
            _mistakes(predicted),
            _certainty(predicted, groups),
        ],
        thing="text",
        summary=_summary(metrics, predicted.labels),
        in_short=f"accuracy {metrics['accuracy']:.4f} (95% interval {metrics['accuracy_low']:.4f} to "
        f"{metrics['accuracy_high']:.4f}), baseline {metrics['baseline_accuracy']:.4f}",
    )


def _headline(predicted: PredictedTexts, metrics: dict[str, float], split: str, of_members: dict[str, str]) -> Headline:
    rows = len(predicted.rows)
    most_frequent = predicted.labels[np.bincount(predicted.true, minlength=len(predicted.labels)).argmax()]
    weakest = min(predicted.labels, key=lambda label: metrics[f"f1/{label}"])
    sure = predicted.confidence >= SURE
    right_if_sure = f", {percent(predicted.right[sure].mean())} right" if sure.any() else ""
    return Headline(
        metric=percent(metrics["accuracy"]),
        sentence=f"{predicted.right.sum():,} of {count(rows, 'text')} got the right label.",
        doubts=[
            *doubts.of_labels(metrics, predicted.labels, predicted.true, predicted.given),
            *doubts.of_unseen(predicted.leaked, metrics, split=split, thing="text"),
        ],
        remarks=[
            f"Always predicting “{most_frequent}” would be right for {percent(metrics['baseline_accuracy'])}.",
            f"With so many texts the true fraction lies between "
            f"{percents(metrics['accuracy_low'], metrics['accuracy_high'], word='and')} (95% interval); a difference "
            "smaller than that may be chance.",
        ],
        facts={
            "mistakes": f"{rows - predicted.right.sum():,} of {rows:,}",
            "mean F1 of the labels": percent(metrics["macro_f1"]),
            "weakest label": f"{weakest}, F1 {percent(metrics[f'f1/{weakest}'])}",
            f"predictions with a score of {SURE:.0%} or more": f"{percent(sure.mean())} of all{right_if_sure}",
            **of_members,
        },
    )


def _per_label(predicted: PredictedTexts, metrics: dict[str, float]) -> Section:
    rows = {label: metrics[f"support/{label}"] for label in predicted.labels}
    table = [
        [label, rows[label], *(percent(metrics[f"{name}/{label}"]) for name in ("precision", "recall", "f1"))]
        for label in predicted.labels
    ]
    scores = {label: metrics[f"f1/{label}"] for label in predicted.labels}
    parts = [
        Text(
            "Found: of the texts with this label, how many got it. Reliable: of the texts that got this label, how "
            "many should have. F1 is high only where both are."
        ),
        Table(
            ["label", "texts", "reliable (precision)", "found (recall)", "F1"],
            table,
            folded=f"All {len(table)} labels" if len(table) > MOST_LABELS else "",
        ),
        Picture(
            "f1",
            svg(plots.bars(scores, title="F1", notes={label: f"({count(n, 'text')})" for label, n in rows.items()})),
            "F1 of each label",
        ),
    ]
    return Section("How well each label is known", parts)


def _confused(predicted: PredictedTexts) -> Section:
    counts = confusions(predicted.true, predicted.given, len(predicted.labels))
    picture = Picture("confusion", svg(plots.confusion(counts, predicted.labels)), "true labels by given labels")
    texts = counts.sum(axis=1)
    mistakes = counts - np.diag(counts.diagonal())
    ranked = [divmod(place, len(counts)) for place in np.argsort(-mistakes, axis=None, kind="stable")]
    table = [
        [
            predicted.labels[true],
            predicted.labels[given],
            int(mistakes[true, given]),
            percent(mistakes[true, given] / texts[true]),
        ]
        for true, given in ranked[:SHOWN_CONFUSIONS]
        if mistakes[true, given]
    ]
    words = Text(
        "Each line of the chart holds the texts of one label, each column those that were given a label: blue is "
        "right, orange is wrong."
    )
    common = [Table(["true label", "taken for", "texts", "of its texts"], table)] if table else []
    return Section("What is taken for what", [words, picture, *common])


def _mistakes(predicted: PredictedTexts) -> Section:
    worst = predicted.wrong[:WORST_MISTAKES]
    if not len(worst):
        return Section("The worst mistakes", [Text("There are none: every text got the right label.")])
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
        "The worst mistakes", [Text(words), Table(["text", "true label", "given label", "score", "line"], table)]
    )


def _certainty(predicted: PredictedTexts, groups: Sequence[tuple[int, float, float]]) -> Section:
    table = [
        [f"{threshold:.0%}", int(sure.sum()), percent(sure.mean()), percent(predicted.right[sure].mean())]
        for threshold in THRESHOLDS
        if (sure := predicted.confidence >= threshold).any()
    ]
    if table:
        words = "Every prediction has a score. If only those with a high score are used and a person reads the rest:"
        kept = [Text(words), Table(["score at least", "texts", "fraction of all", "right among these"], table)]
    else:
        kept = [Text(f"Every prediction has a score; none is {THRESHOLDS[0]:.0%} or more.")]
    return Section(
        "When it is sure",
        [
            *kept,
            Text("Scores can be taken at their word as far as the dots below lie on the dashed line."),
            Picture("calibration", svg(plots.reliability(groups)), "fraction of right predictions by score"),
        ],
    )


def _lines(predicted: PredictedTexts) -> Iterator[dict[str, Any]]:
    each = zip(predicted.rows, predicted.true, predicted.given, predicted.scores, strict=True)
    return (label_line(row, predicted.labels, true=true, given=given, scores=own) for row, true, given, own in each)


def _summary(metrics: dict[str, float], labels: Sequence[str]) -> tuple[str, list[str], list[list[Any]]]:
    table = [
        [label, *(metrics[f"{name}/{label}"] for name in ("precision", "recall", "f1", "support"))] for label in labels
    ]
    means = [metrics[f"macro_{name}"] for name in ("precision", "recall", "f1")]
    total = sum(metrics[f"support/{label}"] for label in labels)
    return "Predictions by label", ["label", "precision", "recall", "f1", "rows"], [*table, ["mean", *means, total]]
