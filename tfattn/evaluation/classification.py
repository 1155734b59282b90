"""The evaluation of a classifier: how often it is right, what it confuses, where it is wrong and sure of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import doubts, members, metrics, plots
from tfattn.evaluation.evaluate import Findings
from tfattn.evaluation.report import Headline, Picture, Section, Table, Text
from tfattn.evaluation.wording import count, percent, percents, shown_of
from tfattn.features import LABEL, LABEL_IDS
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

WORST_MISTAKES = 20
SHOWN_CONFUSIONS = 10
MOST_LABELS = 30  # of more, tables start folded
KEPT_SCORES = 5
SURE = 0.9
THRESHOLDS = (0.5, 0.8, 0.9, 0.95, 0.99)
MOST_CHARACTERS = 300


@dataclass(frozen=True)
class Answers:
    """Every row of a split with what it is and what it was given.

    Args:
        rows: N raw rows: `row` (file:line), `label`, and one or more texts.
        labels: the C labels in the order of their ids.
        true: (N,) ids of the right labels.
        given: (N,) ids of the given labels.
        scores: (N, C) how likely each label is.
        leaked: (N,) whether a training row repeats the row.
    """

    rows: Sequence[dict[str, str]]
    labels: Sequence[str]
    true: np.ndarray
    given: np.ndarray
    scores: np.ndarray
    leaked: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """(N,) whether the given label is the right one."""
        return self.true == self.given

    @property
    def confidence(self) -> np.ndarray:
        """(N,) the score of the given label."""
        return self.scores[np.arange(len(self.given)), self.given]

    def text(self, number: int) -> str:
        """The text of a row, or its texts, as a page can show them."""
        text = " | ".join(value for key, value in self.rows[number].items() if key not in ("row", LABEL))
        return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def report(ensemble: TrainedEnsemble, predicted: SplitPredictions) -> Findings:
    """Measures a classifier of texts.

    Args:
        ensemble: whose `labels` are given.
        predicted: `label_ids` (N,) and `scores` (N, C).

    Returns:
        findings whose metrics are `loss`, those of metrics.classification, `calibration_error`, those of
        doubts.accuracy_without; of several models those of members.measured.
    """
    answers = Answers(
        predicted.rows,
        ensemble.labels,
        predicted.targets[LABEL_IDS],
        predicted.values[LABEL_IDS],
        predicted.values["scores"],
        predicted.leaked,
    )
    figures = {"loss": predicted.loss, **metrics.classification(answers.true, answers.given, answers.labels)}
    groups = metrics.calibration(answers.confidence, answers.right)
    figures["calibration_error"] = metrics.calibration_error(groups)
    figures |= doubts.accuracy_without(answers.leaked, answers.right)
    alone, spread = members.measured(predicted.members, answers.labels)
    figures |= spread
    texts = count(len(answers.rows), f"{predicted.split} text")
    return Findings(
        question="which label does a text get?",
        measured=f"{texts}, {count(len(answers.labels), 'label')}",
        metrics=figures,
        predictions=_predictions(answers),
        headline=_headline(answers, figures, predicted.split),
        sections=[
            _per_label(answers, figures),
            _confused(answers),
            *members.sections(alone, figures, predicted),
            _mistakes(answers),
            _certainty(answers, groups),
        ],
        thing="text",
        summary=_summary(figures, answers.labels),
        in_short=f"accuracy {figures['accuracy']:.4f} (95% interval {figures['accuracy_low']:.4f} to "
        f"{figures['accuracy_high']:.4f}), baseline {figures['baseline_accuracy']:.4f}",
    )


def _headline(answers: Answers, figures: dict[str, float], split: str) -> Headline:
    rows = len(answers.rows)
    most_frequent = answers.labels[np.bincount(answers.true, minlength=len(answers.labels)).argmax()]
    weakest = min(answers.labels, key=lambda label: figures[f"f1/{label}"])
    sure = answers.confidence >= SURE
    right_if_sure = f", {percent(answers.right[sure].mean())} right" if sure.any() else ""
    return Headline(
        figure=percent(figures["accuracy"]),
        sentence=f"{answers.right.sum():,} of {count(rows, 'text')} got the right label.",
        doubts=[
            *doubts.of_labels(figures, answers.labels, answers.true, answers.given),
            *doubts.of_unseen(answers.leaked, figures, split=split, thing="text"),
        ],
        remarks=[
            f"Always answering “{most_frequent}” would be right for {percent(figures['baseline_accuracy'])}.",
            f"With so many texts the true share lies between "
            f"{percents(figures['accuracy_low'], figures['accuracy_high'], word='and')} (95% interval); a difference "
            "smaller than that may be chance.",
        ],
        facts={
            "mistakes": f"{rows - answers.right.sum():,} of {rows:,}",
            "mean F1 of the labels": percent(figures["macro_f1"]),
            "weakest label": f"{weakest}, F1 {percent(figures[f'f1/{weakest}'])}",
            f"answers with a score of {SURE:.0%} or more": f"{percent(sure.mean())} of all{right_if_sure}",
            **members.facts(figures),
        },
    )


def _per_label(answers: Answers, figures: dict[str, float]) -> Section:
    rows = {label: figures[f"support/{label}"] for label in answers.labels}
    table = [
        [label, rows[label], *(percent(figures[f"{name}/{label}"]) for name in ("precision", "recall", "f1"))]
        for label in answers.labels
    ]
    scores = {label: figures[f"f1/{label}"] for label in answers.labels}
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


def _confused(answers: Answers) -> Section:
    counts = metrics.confusions(answers.true, answers.given, len(answers.labels))
    picture = Picture("confusion", svg(plots.confusion(counts, answers.labels)), "true labels by given labels")
    texts = counts.sum(axis=1)
    mistakes = counts - np.diag(counts.diagonal())
    ranked = [divmod(place, len(counts)) for place in np.argsort(-mistakes, axis=None, kind="stable")]
    table = [
        [
            answers.labels[true],
            answers.labels[given],
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


def _mistakes(answers: Answers) -> Section:
    wrong = np.flatnonzero(~answers.right)
    worst = wrong[np.argsort(-answers.confidence[wrong], kind="stable")][:WORST_MISTAKES]
    if not len(worst):
        return Section("The worst mistakes", [Text("There are none: every text got the right label.")])
    table = [
        [
            answers.text(number),
            answers.labels[answers.true[number]],
            answers.labels[answers.given[number]],
            percent(answers.confidence[number]),
            answers.rows[number]["row"].rpartition(":")[2],
        ]
        for number in worst
    ]
    words = f"{shown_of(len(worst), len(wrong))}, the most certain first: at times it is the file that is wrong."
    return Section(
        "The worst mistakes", [Text(words), Table(["text", "true label", "given label", "score", "line"], table)]
    )


def _certainty(answers: Answers, groups: Sequence[tuple[int, float, float]]) -> Section:
    table = [
        [f"{threshold:.0%}", int(sure.sum()), percent(sure.mean()), percent(answers.right[sure].mean())]
        for threshold in THRESHOLDS
        if (sure := answers.confidence >= threshold).any()
    ]
    if table:
        words = "Every answer has a score. If only answers with a high score are used and a person reads the rest:"
        kept = [Text(words), Table(["score at least", "texts answered", "share answered", "right among these"], table)]
    else:
        kept = [Text(f"Every answer has a score; none is {THRESHOLDS[0]:.0%} or more.")]
    return Section(
        "When it is sure",
        [
            *kept,
            Text("Scores can be taken at their word as far as the dots below lie on the dashed line."),
            Picture("calibration", svg(plots.reliability(groups)), "share of right answers by score"),
        ],
    )


def _predictions(answers: Answers) -> Iterator[dict[str, Any]]:
    best = np.argsort(-answers.scores, axis=1, kind="stable")[:, :KEPT_SCORES]
    for number, row in enumerate(answers.rows):
        yield {
            **row,
            "predicted": answers.labels[answers.given[number]],
            "right": bool(answers.right[number]),
            "scores": {answers.labels[place]: round(float(answers.scores[number, place]), 6) for place in best[number]},
        }


def _summary(figures: dict[str, float], labels: Sequence[str]) -> tuple[str, list[str], list[list[Any]]]:
    table = [
        [label, *(figures[f"{name}/{label}"] for name in ("precision", "recall", "f1", "support"))] for label in labels
    ]
    means = [figures[f"macro_{name}"] for name in ("precision", "recall", "f1")]
    total = sum(figures[f"support/{label}"] for label in labels)
    return "Answers by label", ["label", "precision", "recall", "f1", "rows"], [*table, ["mean", *means, total]]
