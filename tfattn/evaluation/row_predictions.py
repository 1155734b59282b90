"""Rows of a split with their predictions, as shown in reports and predictions.jsonl."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots
from tfattn.evaluation.metrics import confusions
from tfattn.evaluation.report import Picture, Table, Text
from tfattn.evaluation.wording import percent
from tfattn.features import ID, LABEL, TARGET
from tfattn.trained.ensemble import TrainedEnsemble

MAX_ERRORS_SHOWN = 20
ROW = "row"
MAX_CHARACTERS = 300
MAX_COLUMNS = 5
KEPT_SCORES = 5
MAX_LABELS = 30  # longer tables start folded
OF_LABEL = ("precision", "recall", "f1")


@dataclass(frozen=True, kw_only=True)
class ChoicePredictions:
    """N rows with the true and the predicted of C classes or choices.

    Args:
        rows: N raw rows: `row` (file:line) and the input fields.
        true: (N,) ids of the true classes.
        predicted_ids: (N,) ids of the predicted classes.
        scores: (N, C) probabilities.
    """

    rows: Sequence[dict[str, Any]]
    true: np.ndarray
    predicted_ids: np.ndarray
    scores: np.ndarray

    @property
    def right(self) -> np.ndarray:
        """(N,) bool, whether the prediction is correct."""
        return self.true == self.predicted_ids

    @property
    def confidence(self) -> np.ndarray:
        """(N,) the score of the predicted class."""
        return self.scores[np.arange(len(self.predicted_ids)), self.predicted_ids]

    @property
    def wrong(self) -> np.ndarray:
        """The indices of the wrong predictions, the most confident first."""
        wrong = np.flatnonzero(~self.right)
        return wrong[np.argsort(-self.confidence[wrong], kind="stable")]


@dataclass(frozen=True, kw_only=True)
class LabelPredictions(ChoicePredictions):
    """N rows with one true and one predicted label each.

    Args:
        rows, true, predicted_ids, scores: see ChoicePredictions.
        labels: the C labels in the order of their ids.
        leaked: (N,) whether a training row repeats the row.
        unit: the name of a row: "text", "image" or "row".
    """

    labels: Sequence[str]
    leaked: np.ndarray
    unit: str = "row"

    def confusion_matrix(self) -> list[Text | Picture]:
        """Return the confusion matrix with an explanation."""
        counts = confusions(self.true, self.predicted_ids, len(self.labels))
        words = (
            f"Rows are true labels, columns are predicted labels. Cells have the number of {self.unit}s and the "
            "fraction of the row. Blue is correct, orange is wrong."
        )
        return [
            Text(words),
            Picture("confusion", svg(plots.confusion(counts, self.labels)), "confusion matrix"),
        ]

    def table(self, metrics: dict[str, float]) -> Table:
        """Return a table of the metrics per label."""
        rows = [
            [label, metrics[f"support/{label}"], *(percent(metrics[f"{name}/{label}"]) for name in OF_LABEL)]
            for label in self.labels
        ]
        folded = f"All {len(rows)} labels" if len(rows) > MAX_LABELS else ""
        return Table(["label", f"{self.unit}s", "precision", "recall", "F1"], rows, folded)


@dataclass(frozen=True)
class RowFormat:
    """The display format of rows.

    Args:
        rows: N raw rows, with `row`, the file and line.
        fields: the displayed fields, joined.
        unit: the name of a row, "text" or "row".
    """

    rows: Sequence[dict[str, str]]
    fields: Sequence[str]
    unit: str

    @classmethod
    def of(cls, ensemble: TrainedEnsemble, rows: Sequence[dict[str, str]], roles: Sequence[str]) -> "RowFormat":
        """Select the displayed fields: all texts; of a table the identifiers, or the first columns if there are none.

        Args:
            ensemble: the ensemble; its preprocessor reads the rows.
            rows: N raw rows.
            roles: the fields of the targets, which have their own columns.
        """
        read = ensemble.preprocessor.fields
        if not ensemble.preprocessor.reads_columns:
            return cls(rows, read, "text")
        identifiers = [name for name in rows[0] if name not in {ROW, ID, *roles, *read}]
        return cls(rows, (identifiers or read)[:MAX_COLUMNS], "row")

    def words(self, number: int) -> str:
        """Return the displayed fields of a row."""
        row = self.rows[number]
        if self.unit == "text":
            words = " | ".join(row[name] for name in self.fields)
        else:
            words = ", ".join(f"{name} = {row[name]}" for name in self.fields)
        return words if len(words) <= MAX_CHARACTERS else f"{words[: MAX_CHARACTERS - 1]}…"

    def table(self, numbers: Sequence[int], columns: dict[str, Sequence[str | float]]) -> Table:
        """Return a table of some rows, with additional columns, identifiers and line numbers."""
        columns = columns | locations([self.rows[number] for number in numbers])
        cells = zip(map(self.words, numbers), *columns.values(), strict=True)
        return Table([self.unit, *columns], [list(row) for row in cells])


def locations(rows: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the columns of a table that locate rows: `id`, if rows have identifiers, and `line`.

    Example:
        >>> locations([{"row": "reports.csv:7", "id": "R-12", "text": "A leak."}])
        {'id': ['R-12'], 'line': ['7']}
    """
    lines = [row[ROW].rpartition(":")[2] for row in rows]
    return ({ID: [row[ID] for row in rows]} if rows and ID in rows[0] else {}) | {"line": lines}


def location(row: dict[str, Any]) -> str:
    """Return the identifier of a row, if it has one, and its line."""
    return ", ".join(value for (value,) in locations([row]).values())


def label_line(
    row: dict[str, str], labels: Sequence[str], *, true: int, predicted_id: int, scores: np.ndarray
) -> dict[str, Any]:
    """Return the line of a row in predictions.jsonl: its true label as `target`, its prediction, and the top scores.

    Args:
        row: the raw row.
        labels: the C labels in the order of their ids.
        true, predicted_id: the ids of its true and its predicted label.
        scores: (C,).

    Example:
        >>> label_line({"text": "x"}, ["no", "yes"], true=0, predicted_id=1, scores=np.array([0.25, 0.75]))
        {'text': 'x', 'target': 'no', 'predicted': 'yes', 'right': False, 'scores': {'yes': 0.75, 'no': 0.25}}
    """
    return {
        **{role: value for role, value in row.items() if role != LABEL},
        TARGET: labels[true],
        "predicted": labels[predicted_id],
        "right": bool(true == predicted_id),
        "scores": best_scores(labels, scores),
    }


def best_scores(labels: Sequence[str], scores: np.ndarray) -> dict[str, float]:
    """Return the top scores of a row, by label."""
    best = np.argsort(-scores, kind="stable")[:KEPT_SCORES]
    return {labels[index]: round(float(scores[index]), 6) for index in best}
