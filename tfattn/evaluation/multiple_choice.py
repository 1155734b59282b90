"""The evaluation of multiple choice: accuracy by number and position of choices, and errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.evaluation import warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import log_loss
from tfattn.evaluation.report import Headline, Marked, Piece, Section, Table, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, ChoicePredictions, location
from tfattn.evaluation.wording import count, percent, percents, shown_count
from tfattn.features import CHOICES, CONTEXT, LABEL_IDS
from tfattn.tasks.intervals import counted_fraction
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_CHARACTERS = 600  # of a displayed text
MAX_POSITIONS = 10


@dataclass(frozen=True, kw_only=True)
class Choices(ChoicePredictions):
    """N contexts with true and predicted choices, by index."""

    @property
    def sizes(self) -> np.ndarray:
        """(N,) the number of choices."""
        return np.array([len(row[CHOICES]) for row in self.rows])


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate multiple choice.

    Args:
        ensemble: the trained models of a MultipleChoice.
        predictions: of `MultipleChoice.predictions`.

    Returns:
        a report whose metrics are `log_loss`; `accuracy` with its 95 % interval; `baseline_accuracy` of always
        choosing the most frequent position; `chance_accuracy` of random choices; those of warnings.accuracy_without;
        and for several models those of Spread.
    """
    chosen = Choices(
        rows=predictions.rows,
        true=predictions.targets[LABEL_IDS],
        predicted_ids=predictions.values[LABEL_IDS],
        scores=predictions.values["scores"],
    )
    metrics = {
        "log_loss": log_loss(chosen.true, chosen.scores),
        **_accuracy(chosen.right),
        "baseline_accuracy": float(np.bincount(chosen.true).max() / len(chosen.true)),
        "chance_accuracy": float(np.mean(1 / chosen.sizes)),
        **warnings.accuracy_without(predictions.leaked, chosen.right),
    }
    alone = {
        member.name: _accuracy(member.values[LABEL_IDS] == member.targets[LABEL_IDS]) for member in predictions.members
    }
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
            _by_position(chosen),
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
    positions = [f"choice {number}" for number in range(chosen.sizes.max())]
    most_frequent = positions[np.bincount(chosen.true).argmax()]
    return Headline(
        metric=percent(metrics["accuracy"]),
        sentence=f"The choice is correct for {chosen.right.sum():,} of {count(len(chosen.rows), 'row')}.",
        warnings=[
            *warnings.of_labels(metrics, positions, chosen.true, chosen.predicted_ids),
            *warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit="row"),
        ],
        remarks=[
            f"Baseline: always choosing “{most_frequent}”, counted from 0, has an accuracy of "
            f"{percent(metrics['baseline_accuracy'])}; random choices have {percent(metrics['chance_accuracy'])}.",
            f"The 95% confidence interval of the accuracy is "
            f"{percents(metrics['accuracy_low'], metrics['accuracy_high'])}.",
        ],
        facts={"mean probability of the predicted choice": percent(float(chosen.confidence.mean())), **of_members},
    )


def _by_size(chosen: Choices) -> Section:
    table = [
        [int(size), int(rows.sum()), percent(float(chosen.right[rows].mean())), percent(1 / size)]
        for size, rows in ((size, chosen.sizes == size) for size in np.unique(chosen.sizes))
    ]
    return Section("Accuracy by number of choices", [Table(["choices", "rows", "accuracy", "by chance"], table)])


def _by_position(chosen: Choices) -> Section:
    """Return counts and recall of each position."""
    positions = range(chosen.sizes.max())
    table = [
        [
            f"choice {index}",
            int((chosen.true == index).sum()),
            int((chosen.predicted_ids == index).sum()),
            percent(float(chosen.right[chosen.true == index].mean())) if (chosen.true == index).any() else "",
        ]
        for index in positions
    ]
    words = Text("Positions are counted from 0. With choices in random order, accuracies are similar.")
    folded = f"All {len(table)} positions" if len(table) > MAX_POSITIONS else ""
    title = "Accuracy by position of the correct choice"
    return Section(title, [words, Table(["", "true", "predicted", "accuracy"], table, folded)])


def _mistakes(chosen: Choices) -> Section:
    worst = chosen.wrong[:MAX_ERRORS_SHOWN]
    if not len(worst):
        return Section("Most confident errors", [Text("There are no errors.")])
    words = (
        f"{shown_count(len(worst), len(chosen.wrong))}, the most confident first, with the probability of "
        "each choice. Orange is the correct choice, red the predicted choice. The file may be wrong."
    )
    lines = [line for number in worst for line in _lines_of(chosen, number)]
    return Section("Most confident errors", [Text(words), Marked(lines)])


def _lines_of(chosen: Choices, number: int) -> Iterator[tuple[str, Sequence[Piece]]]:
    row = chosen.rows[number]
    yield location(row), [Piece(row[CONTEXT][:MAX_CHARACTERS])]
    kinds = {int(chosen.true[number]): "missed", int(chosen.predicted_ids[number]): "wrong"}
    for index, choice in enumerate(row[CHOICES]):
        shown = percent(float(chosen.scores[number, index]))
        yield shown, [Piece(choice[:MAX_CHARACTERS], kinds.get(index, ""))]


def _lines(chosen: Choices) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(chosen.rows):
        predicted_ids = int(chosen.predicted_ids[number])
        yield {
            **row,
            "label_id": predicted_ids,
            "choice": row[CHOICES][predicted_ids],
            "right": bool(chosen.right[number]),
            "scores": [round(float(score), 6) for score in chosen.scores[number, : len(row[CHOICES])]],
        }
