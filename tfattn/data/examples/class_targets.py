"""One class for each row."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.features import LABEL, LABEL_IDS
from tfattn.formats.numbers import MISSING, read
from tfattn.formats.source import Row

MANY_CLASSES = 10  # more numeric classes suggest a regression target
NUMBERS = (
    "Numbers are no classes: take a task that predicts numbers, such as regression, or name another column in "
    "`fields.label`."
)


class Classes(Target):
    """One class for each row, from the role `label`.

    Args:
        labels: the allowed classes; a row with another class is an error. By default the classes of training rows, in
            alphabetical order.

    Raises:
        ConfigError: there are fewer than two classes, or a class is duplicated.
    """

    roles = text_roles = (LABEL,)
    is_stratified = True

    def __init__(self, *, labels: list[str] | None = None):
        check_labels(labels)
        self._known = labels
        self.use({"labels": labels, "counts": [1] * len(labels or "ab")})

    @property
    def facts(self) -> dict[str, Any]:
        """Return `labels`, in the order of their ids, and `counts`, the number of training rows of each class.

        Before `fit`, each count is 1. If the classes are unknown, there are two counts, and `labels` is None.
        """
        return self._facts

    def use(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._ids = {name: number for number, name in enumerate(facts["labels"] or ())}

    @property
    def features(self) -> dict[str, Feature]:
        return {LABEL_IDS: Feature("int64", role="target")}

    def check(self, row: Row) -> None:
        """Check that the class is one of `labels`, if these are given."""
        name = self.stratum(row)
        if self._known and name not in self._known:
            raise DataError(
                "not a label of `data.targets.labels`",
                where=row.where,
                expected=f"one of {listed(self._known)}",
                received=repr(name),
                remedy=nearest(name, self._known) or "Correct the row, or list the label.",
            )

    def stratum(self, row: Row) -> str:
        """Return the class of a row, with normalized white space."""
        return " ".join(row.fields[LABEL].split())

    def classes(self, row: Row) -> Sequence[str]:
        return (self.stratum(row),)

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Find and count the classes.

        Raises:
            DataError: there are fewer than two.
        """
        labels = self._known or strata.names
        self.use({"labels": labels, "counts": [strata.counts.get(name, 0) for name in labels]})
        if len(self._ids) < 2:
            raise DataError(
                "there are fewer than two classes",
                expected="at least 2 classes among the training rows",
                received=", ".join(map(repr, self._ids)) or "none",
                remedy="Check which column `fields.label` names.",
            )

    def check_known(self, stratum: str, where: str) -> None:
        if stratum not in self._ids:
            remedy = NUMBERS if seem_numbers(self._ids) else nearest(stratum, self._ids)
            raise DataError(
                "a label that no training row has",
                where=where,
                expected=f"one of {listed(self._ids)}",
                received=repr(stratum),
                remedy=remedy,
            )

    def encode(self, row: Row) -> dict[str, Any]:
        return {LABEL_IDS: self._ids[self.stratum(row)]}


def check_labels(labels: list[str] | None) -> None:
    """Check a list of classes.

    Raises:
        ConfigError: there are fewer than two classes, or a class is duplicated.
    """
    if labels is not None and len(set(labels)) != max(2, len(labels)):
        raise ConfigError(
            "not a list of classes", key="labels", expected="at least two, each once", received=", ".join(labels)
        )


def seem_numbers(classes: Collection[str]) -> bool:
    """Return whether classes look like the values of a numeric column: many, and all numbers or missing."""
    return len(classes) > MANY_CLASSES and all(read(name) is not None for name in classes if name not in MISSING)
