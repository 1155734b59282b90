"""Rows of a split with what was predicted for them, as reports and predictions.jsonl show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots
from tfattn.evaluation.metrics import confusions
from tfattn.evaluation.report import Picture, Table, Text
from tfattn.evaluation.wording import percent
from tfattn.features import LABEL, TARGET
from tfattn.trained.ensemble import TrainedEnsemble

WORST_MISTAKES = 20  # that a report shows
ROW = "row"
MAX_CHARACTERS = 300
MAX_COLUMNS = 5
KEPT_SCORES = 5
MAX_LABELS = 30  # of more, tables start folded
OF_LABEL = ("precision", "recall", "f1")


@dataclass(frozen=True, kw_only=True)
class ChoicePredictions:
    """N rows with the one that is right of C classes, or choices, and the one that was chosen.

    Args:
        rows: N raw rows: `row` (file:line) and what was read.
        true: (N,) the ids of the right ones.
        given: (N,) the ids of those that were chosen.
        scores: (N, C) how likely each is.
    """

    rows: Sequence[dict[str, Any]]
    true: np.ndarray
    given: np.ndarray
    scores: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """(N,) whether the right one was chosen."""
        return self.true == self.given

    @property
    def confidence(self) -> np.ndarray:
        """(N,) the score of the one that was chosen."""
        return self.scores[np.arange(len(self.given)), self.given]

    @property
    def wrong(self) -> np.ndarray:
        """The numbers of the rows of which another one was chosen, those first of which the model was most certain."""
        wrong = np.flatnonzero(~self.right)
        return wrong[np.argsort(-self.confidence[wrong], kind="stable")]


@dataclass(frozen=True, kw_only=True)
class LabelPredictions(ChoicePredictions):
    """N rows with one of C labels each, and the predicted ones.

    Args:
        rows, true, given, scores: see ChoicePredictions.
        labels: the C labels in the order of their ids.
        leaked: (N,) whether a training row repeats the row.
        unit: what a row is called: "text", "image" or "row".
    """

    labels: Sequence[str]
    leaked: np.ndarray
    unit: str = "row"

    def confusion_matrix(self) -> list[Text | Picture]:
        """Show how often rows of each label got each label."""
        counts = confusions(self.true, self.given, len(self.labels))
        words = (
            f"Each row has the {self.unit}s of one true label, each column those of one predicted label. Blue is "
            "correct, orange is wrong."
        )
        return [
            Text(words),
            Picture("confusion", svg(plots.confusion(counts, self.labels)), "true by predicted labels"),
        ]

    def table(self, metrics: dict[str, float]) -> Table:
        """List the metrics of each label."""
        rows = [
            [label, metrics[f"support/{label}"], *(percent(metrics[f"{name}/{label}"]) for name in OF_LABEL)]
            for label in self.labels
        ]
        folded = f"All {len(rows)} labels" if len(rows) > MAX_LABELS else ""
        return Table(["label", f"{self.unit}s", "precision", "recall", "F1"], rows, folded)


@dataclass(frozen=True)
class RowFormat:
    """How rows are shown.

    Args:
        rows: N raw rows, with `row`, the file and line.
        fields: what is shown of each, joined.
        unit: what a row is called, "text" or "row".
    """

    rows: Sequence[dict[str, str]]
    fields: Sequence[str]
    unit: str

    @classmethod
    def of(cls, ensemble: TrainedEnsemble, rows: Sequence[dict[str, str]], roles: Sequence[str]) -> "RowFormat":
        """Choose what is shown: texts whole; of a table what identifies a row, or else the first columns.

        Args:
            ensemble: whose preprocessor reads the rows.
            rows: N raw rows.
            roles: those of the targets, which stand beside.
        """
        read = ensemble.preprocessor.fields
        if not ensemble.preprocessor.reads_columns:
            return cls(rows, read, "text")
        identifiers = [name for name in rows[0] if name not in {ROW, *roles, *read}]
        return cls(rows, (identifiers or read)[:MAX_COLUMNS], "row")

    def words(self, number: int) -> str:
        """Return what is shown of a row."""
        row = self.rows[number]
        if self.unit == "text":
            words = " | ".join(row[name] for name in self.fields)
        else:
            words = ", ".join(f"{name} = {row[name]}" for name in self.fields)
        return words if len(words) <= MAX_CHARACTERS else f"{words[: MAX_CHARACTERS - 1]}…"

    def table(self, numbers: Sequence[int], columns: dict[str, Sequence[str | float]]) -> Table:
        """List some rows, each with its line, and columns that say something of it, a cell for each."""
        lines = [self.rows[number][ROW].rpartition(":")[2] for number in numbers]
        cells = zip(map(self.words, numbers), *columns.values(), lines, strict=True)
        return Table([self.unit, *columns, "line"], [list(row) for row in cells])


def label_line(
    row: dict[str, str], labels: Sequence[str], *, true: int, given: int, scores: np.ndarray
) -> dict[str, Any]:
    """Make the line of a raw row: its right label as `target`, its prediction, and the highest scores.

    Args:
        row: the raw row.
        labels: the C labels in the order of their ids.
        true, given: the ids of its right label and of the one that it was given.
        scores: (C,).

    Example:
        >>> label_line({"text": "x"}, ["no", "yes"], true=0, given=1, scores=np.array([0.25, 0.75]))
        {'text': 'x', 'target': 'no', 'predicted': 'yes', 'right': False, 'scores': {'yes': 0.75, 'no': 0.25}}
    """
    return {
        **{role: value for role, value in row.items() if role != LABEL},
        TARGET: labels[true],
        "predicted": labels[given],
        "right": bool(true == given),
        "scores": best_scores(labels, scores),
    }


def best_scores(labels: Sequence[str], scores: np.ndarray) -> dict[str, float]:
    """Keep the highest of the scores (C,) of a row, by label."""
    best = np.argsort(-scores, kind="stable")[:KEPT_SCORES]
    return {labels[place]: round(float(scores[place]), 6) for place in best}
