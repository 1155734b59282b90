"""What rows are to teach: raw values in, the target features of a record out.

A kind of target is a class like these. It knows its roles; what it must know of all training rows it is told by `fit`.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.data.encoding import Feature
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.source import Row
from tfattn.errors import DataError, listed, nearest
from tfattn.features import LABEL, LABEL_IDS
from tfattn.formats.numbers import MISSING, read

MANY_CLASSES = 10  # more would be odd where they are numbers
NUMBERS = (
    "Numbers are no classes: name another column in `fields.label`, or write classes such as low and high into one."
)
_LABELS = "labels.txt"


class Target:
    """The contract; this class itself stands for rows that teach nothing beside what the preprocessing reads.

    Attributes:
        roles: what it reads, without which a row is left out.
        text_roles: those of them whose values are texts.
        features: what it writes into a record.
        names: the classes in the order of their ids, where there are any.
    """

    roles: tuple[str, ...] = ()
    text_roles: tuple[str, ...] = ()
    features: dict[str, Feature] = {}
    names: list[str] = []

    def check(self, row: Row) -> None:
        """Refuses a row whose target is not as it should be.

        Raises:
            DataError: names the row's place.
        """

    def stratum(self, row: Row) -> str:
        """Tells rows apart that are to be divided alike; all are alike by default."""
        return ""

    def fit(self, strata: Collection[str], rows: Iterable[Row]) -> None:
        """Learns what is to be known of training rows.

        Args:
            strata: the different strata of all of them.
            rows: all of them, or of very many a random part, in the order of the file.
        """

    def check_known(self, stratum: str, where: str) -> None:
        """Refuses a stratum that no training row has, where that cannot be taught; `where` is a row that has it.

        Raises:
            DataError: names the place.
        """

    def encode(self, row: Row) -> dict[str, Any]:
        """Gives the target features of a row."""
        return {}

    def save(self, folder: Path) -> None:
        """Writes what `load` reads into an existing folder."""

    def load(self, folder: Path) -> None:
        """Reads what `save` wrote.

        Raises:
            DataError: it is missing or damaged.
        """


class Classes(Target):
    """One class per row.

    Args:
        known: the classes that there are; None for those that the training rows have, in alphabetical order.
    """

    roles = text_roles = (LABEL,)
    features = {LABEL_IDS: Feature("int64", role="target")}

    def __init__(self, known: list[str] | None = None):
        self._known = known
        self._use(known or [])

    def check(self, row: Row) -> None:
        """Refuses a class that is not known, where it was said which there are."""
        name = self.stratum(row)
        if self._known and name not in self._known:
            raise DataError(
                "not a label of `data.labels`",
                where=row.where,
                expected=f"one of {listed(self._known)}",
                received=repr(name),
                remedy=nearest(name, self._known) or "Correct the row, or list the label.",
            )

    def stratum(self, row: Row) -> str:
        """Gives the class of a row as it stands in the file, spaces and line breaks made single spaces."""
        return " ".join(row.fields[LABEL].split())

    def fit(self, strata: Collection[str], rows: Iterable[Row]) -> None:
        """Finds the classes.

        Raises:
            DataError: there are fewer than two.
        """
        self._use(self._known or sorted(strata))
        if len(self.names) < 2:
            raise DataError(
                "there is nothing to tell apart",
                expected="at least 2 classes among the training rows",
                received=", ".join(map(repr, self.names)) or "none",
                remedy="Check which column `fields.label` names.",
            )

    def check_known(self, stratum: str, where: str) -> None:
        if stratum not in self._ids:
            remedy = NUMBERS if seem_numbers(self.names) else nearest(stratum, self.names)
            raise DataError(
                "a label that no training row has",
                where=where,
                expected=f"one of {listed(self.names)}",
                received=repr(stratum),
                remedy=remedy,
            )

    def encode(self, row: Row) -> dict[str, Any]:
        return {LABEL_IDS: self._ids[self.stratum(row)]}

    def save(self, folder: Path) -> None:
        """Writes labels.txt, a class per line."""
        files.write_text(folder / _LABELS, "".join(f"{name}\n" for name in self.names))

    def load(self, folder: Path) -> None:
        try:
            self._use((folder / _LABELS).read_text(encoding="utf-8").removesuffix("\n").split("\n"))
        except (OSError, UnicodeError) as error:
            raise DataError(
                f"cannot read the labels ({error})", where=str(folder / _LABELS), remedy=PREPARE_AGAIN
            ) from None

    def _use(self, names: list[str]) -> None:
        self.names = names
        self._ids = {name: number for number, name in enumerate(names)}


def seem_numbers(classes: Collection[str]) -> bool:
    """Whether classes seem to be what a numeric column holds: many of them, and all numbers, but what is missing."""
    return len(classes) > MANY_CLASSES and all(read(name) is not None for name in classes if name not in MISSING)
