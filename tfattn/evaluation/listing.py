"""Rows of a split as a report lists them: a text as it stands, a row of a table by what identifies it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfattn.evaluation.report import Table
from tfattn.trained.ensemble import TrainedEnsemble

ROW = "row"
MOST_CHARACTERS = 300
MOST_COLUMNS = 5


@dataclass(frozen=True)
class Listed:
    """How rows are shown.

    Args:
        rows: N raw rows, with `row`, the file and line.
        fields: what is shown of each, joined.
        thing: what a row is called, "text" or "row".
    """

    rows: Sequence[dict[str, str]]
    fields: Sequence[str]
    thing: str

    @classmethod
    def of(cls, ensemble: TrainedEnsemble, rows: Sequence[dict[str, str]], roles: Sequence[str]) -> "Listed":
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
        return cls(rows, (identifiers or read)[:MOST_COLUMNS], "row")

    def words(self, number: int) -> str:
        """Return what is shown of a row."""
        row = self.rows[number]
        if self.thing == "text":
            words = " | ".join(row[name] for name in self.fields)
        else:
            words = ", ".join(f"{name} = {row[name]}" for name in self.fields)
        return words if len(words) <= MOST_CHARACTERS else f"{words[: MOST_CHARACTERS - 1]}…"

    def table(self, numbers: Sequence[int], columns: dict[str, Sequence[str | float]]) -> Table:
        """List some rows, each with its line, and columns that say something of it, a cell for each."""
        lines = [self.rows[number][ROW].rpartition(":")[2] for number in numbers]
        cells = zip(map(self.words, numbers), *columns.values(), lines, strict=True)
        return Table([self.thing, *columns, "line"], [list(row) for row in cells])
