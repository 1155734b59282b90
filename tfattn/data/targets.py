"""What rows are to teach: raw values in, the target features of a record out.

A kind of target is a class like these: the `roles` it reads, the `features` it writes, `of` a row (its stratum),
`check` a row before rows are divided, `fit` on training rows, `encode` a row, `counts`, and `save` what others need.
`prepare` knows nothing else about it.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from tfattn.data.records import Feature
from tfattn.data.source import Row
from tfattn.errors import DataError, listed, nearest
from tfattn.features import LABEL, LABEL_IDS
from tfattn.formats.numbers import MISSING, read

MANY_CLASSES = 10  # more would be odd where they are numbers
NUMBERS = (
    "Numbers are no classes: name another column in `fields.label`, or write classes such as low and high into one."
)


def seem_numbers(classes: Collection[str]) -> bool:
    """Whether classes seem to be what a numeric column holds: many of them, and all numbers, but what is missing."""
    return len(classes) > MANY_CLASSES and all(read(name) is not None for name in classes if name not in MISSING)


class NoLabels:
    """Rows that are not labelled: what is to be learnt from them is in what the preprocessing reads."""

    roles: tuple[str, ...] = ()
    features: dict[str, Feature] = {}
    names: list[str] = []

    @staticmethod
    def of(row: Row) -> str:
        """All rows are of one kind."""
        return ""

    def check(self, row: Row) -> None:
        """Nothing can be wrong."""

    def fit(self, training_rows: Iterable[Row]) -> None:
        """There is nothing to find."""

    def encode(self, row: Row) -> dict[str, Any]:
        """No features."""
        return {}

    def counts(self, rows: Iterable[Row]) -> list[int]:
        """No classes."""
        return []

    def save(self, folder: Path) -> None:
        """Others need nothing."""


class ClassLabels:
    """One class per row.

    Args:
        known: the classes that there are; None for those that the training rows have, in alphabetical order.

    Attributes:
        names: the classes in their order; a class is stored as its place in this list.
    """

    roles = (LABEL,)
    features = {LABEL_IDS: Feature("int64", role="target")}

    def __init__(self, known: list[str] | None = None):
        self._known = known
        self.names: list[str] = []
        self._ids: dict[str, int] = {}

    @staticmethod
    def of(row: Row) -> str:
        """The class of a row as it stands in the file, spaces and line breaks made single spaces."""
        return " ".join(row.fields[LABEL].split())

    def check(self, row: Row) -> None:
        """Refuses a class that is not known, where it was said which there are.

        Raises:
            DataError: names the row's place.
        """
        name = self.of(row)
        if self._known and name not in self._known:
            raise DataError(
                "not a label of `data.labels`",
                where=row.where,
                expected=f"one of {listed(self._known)}",
                received=repr(name),
                remedy=nearest(name, self._known) or "Correct the row, or list the label.",
            )

    def fit(self, training_rows: Iterable[Row]) -> None:
        """Finds the classes.

        Raises:
            DataError: there are fewer than two.
        """
        self.names = self._known or sorted({self.of(row) for row in training_rows})
        self._ids = {name: number for number, name in enumerate(self.names)}
        if len(self.names) < 2:
            raise DataError(
                "there is nothing to tell apart",
                expected="at least 2 classes among the training rows",
                received=", ".join(map(repr, self.names)) or "none",
                remedy="Check which column `fields.label` names.",
            )

    def encode(self, row: Row) -> dict[str, Any]:
        """The target features of a row.

        Raises:
            DataError: it has a class that no training row has.
        """
        name = self.of(row)
        if name not in self._ids:
            remedy = NUMBERS if seem_numbers(self.names) else nearest(name, self.names)
            raise DataError(
                "a label that no training row has",
                where=row.where,
                expected=f"one of {listed(self.names)}",
                received=repr(name),
                remedy=remedy,
            )
        return {LABEL_IDS: self._ids[name]}

    def counts(self, rows: Iterable[Row]) -> list[int]:
        """Rows of each class, in the order of `names`."""
        count = Counter(map(self.of, rows))
        return [count[name] for name in self.names]

    def save(self, folder: Path) -> None:
        """Writes labels.txt, a class per line."""
        (folder / "labels.txt").write_text("".join(f"{name}\n" for name in self.names), encoding="utf-8")
