"""The evaluation of multiple choice: how often the right text is chosen, of how many, and where it goes wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.evaluation import warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import log_loss
from tfattn.evaluation.report import Headline, Marked, Piece, Section, Table, Text
from tfattn.evaluation.row_predictions import WORST_MISTAKES, ChoicePredictions
from tfattn.evaluation.wording import count, percent, percents, shown_of
from tfattn.features import CHOICES, CONTEXT, LABEL_IDS
from tfattn.tasks.intervals import counted_fraction
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_CHARACTERS = 600  # of a text that is shown
MAX_POSITIONS = 10


@dataclass(frozen=True, kw_only=True)
class Choices(ChoicePredictions):
    """N contexts with the choice that is right and the one that was made, by their numbers from 0."""

    @property
    def sizes(self) -> np.ndarray:
        """(N,) of how many texts one was chosen."""
        return np.array([len(row[CHOICES]) for row in self.rows])


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Measure the choices of a model.

    Args:
        ensemble: whose task is a MultipleChoice.
        predictions: of `MultipleChoice.predictions`.

    Returns:
        a report whose metrics are `log_loss`; `accuracy` with its 95 % interval; `baseline_accuracy`, what always
        choosing the most frequent place would reach, and `chance_accuracy`, what drawing lots would; those of
        warnings.accuracy_without; and of several models those of Spread.
    """
    chosen = Choices(
        rows=predictions.rows,
        true=predictions.targets[LABEL_IDS],
        given=predictions.values[LABEL_IDS],
        scores=predictions.values["scores"],
    )
    metrics = {
        "log_loss": log_loss(chosen.true, chosen.scores),
        **_accuracy(chosen.right),
        "baseline_accuracy": float(np.bincount(chosen.true).max() / len(chosen.true)),
        "chance_accuracy": float(np.mean(1 / chosen.sizes)),
        **warnings.accuracy_without(predictions.leaked, chosen.right),
    }
    alone = {one.name: _accuracy(one.values[LABEL_IDS] == one.targets[LABEL_IDS]) for one in predictions.members}
    spread = Spread("accuracy", alone)
    metrics |= spread.metrics
    return TaskReport(
        question="which choice fits its context?",
        measured=count(len(chosen.rows), f"{predictions.split} row"),
        metrics=metrics,
        predictions=_lines(chosen),
        headline=_headline(chosen, metrics, predictions, spread.facts),
        sections=[
            _by_size(chosen),
            _by_place(chosen),
            *spread.sections(metrics, predictions),
            _mistakes(chosen),
        ],
        unit="row",
        summary=f"accuracy {metrics['accuracy']:.4f} (95% interval {metrics['accuracy_low']:.4f} to "
        f"{metrics['accuracy_high']:.4f}), baseline {metrics['baseline_accuracy']:.4f}",
        baselines={"accuracy": metrics["baseline_accuracy"]},
    )


def _accuracy(right: np.ndarray) -> dict[str, float]:
    return counted_fraction("accuracy", int(right.sum()), len(right))


def _headline(
    chosen: Choices, metrics: dict[str, float], predictions: SplitPredictions, of_members: dict[str, str]
) -> Headline:
    places = [f"choice {number}" for number in range(chosen.sizes.max())]
    most_frequent = places[np.bincount(chosen.true).argmax()]
    return Headline(
        metric=percent(metrics["accuracy"]),
        sentence=f"The right choice was made for {chosen.right.sum():,} of {count(len(chosen.rows), 'row')}.",
        warnings=[
            *warnings.of_labels(metrics, places, chosen.true, chosen.given),
            *warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit="row"),
        ],
        remarks=[
            f"Always taking “{most_frequent}”, counted from 0, would be right for "
            f"{percent(metrics['baseline_accuracy'])}; drawing lots for {percent(metrics['chance_accuracy'])}.",
            f"With so many rows the true fraction lies between "
            f"{percents(metrics['accuracy_low'], metrics['accuracy_high'], word='and')} (95% interval).",
        ],
        facts={"mean probability of the choice made": percent(float(chosen.confidence.mean())), **of_members},
    )


def _by_size(chosen: Choices) -> Section:
    table = [
        [int(size), int(rows.sum()), percent(float(chosen.right[rows].mean())), percent(1 / size)]
        for size, rows in ((size, chosen.sizes == size) for size in np.unique(chosen.sizes))
    ]
    return Section("Accuracy by number of choices", [Table(["choices", "rows", "accuracy", "by drawing lots"], table)])


def _by_place(chosen: Choices) -> Section:
    """Tell how often each place is right, and is taken."""
    places = range(chosen.sizes.max())
    table = [
        [
            f"choice {place}",
            int((chosen.true == place).sum()),
            int((chosen.given == place).sum()),
            percent(float(chosen.right[chosen.true == place].mean())) if (chosen.true == place).any() else "",
        ]
        for place in places
    ]
    words = Text("Positions are counted from 0. Where the order of choices says nothing, accuracy is alike at all.")
    folded = f"All {len(table)} positions" if len(table) > MAX_POSITIONS else ""
    return Section(
        "Accuracy by position of the right choice", [words, Table(["", "right", "taken", "found"], table, folded)]
    )


def _mistakes(chosen: Choices) -> Section:
    worst = chosen.wrong[:WORST_MISTAKES]
    if not len(worst):
        return Section("Worst mistakes", [Text("There are none.")])
    words = (
        f"{shown_of(len(worst), len(chosen.wrong))}, those first of which the model was most certain, with the "
        "probability of each choice. Orange is what is right, red what was chosen. At times the file is wrong."
    )
    lines = [line for number in worst for line in _lines_of(chosen, number)]
    return Section("Worst mistakes", [Text(words), Marked(lines)])


def _lines_of(chosen: Choices, number: int) -> Iterator[tuple[str, Sequence[Piece]]]:
    row = chosen.rows[number]
    yield row["row"].rpartition(":")[2], [Piece(row[CONTEXT][:MAX_CHARACTERS])]
    kinds = {int(chosen.true[number]): "missed", int(chosen.given[number]): "wrong"}
    for place, choice in enumerate(row[CHOICES]):
        shown = percent(float(chosen.scores[number, place]))
        yield shown, [Piece(choice[:MAX_CHARACTERS], kinds.get(place, ""))]


def _lines(chosen: Choices) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(chosen.rows):
        given = int(chosen.given[number])
        yield {
            **row,
            "label_id": given,
            "choice": row[CHOICES][given],
            "right": bool(chosen.right[number]),
            "scores": [round(float(score), 6) for score in chosen.scores[number, : len(row[CHOICES])]],
        }
