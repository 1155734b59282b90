"""Targets of multi-label classification: a set of classes per row, which may be empty."""

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import Field

from tfattn.data.examples.class_targets import check_labels
from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.targets import Target
from tfattn.errors import DataError, listed, nearest
from tfattn.features import LABEL_INDICATORS, LABELS
from tfattn.formats.source import Row


class LabelSets(Target):
    """A set of classes for each row, from the role `labels`. An empty value is the empty set.

    Args:
        labels: the allowed classes; a row with another class is an error. By default the classes of training rows, in
            alphabetical order.
        separator: separator of the classes of a row in a table. In JSON lines, the value may be a list.

    Raises:
        ConfigError: there are fewer than two classes, or a class is duplicated.
    """

    roles = (LABELS,)
    may_be_empty = True

    def __init__(self, *, labels: list[str] | None = None, separator: Annotated[str, Field(min_length=1)] = "|"):
        check_labels(labels)
        self._known = labels
        self._separator = separator
        self.use({"labels": labels, "counts": [1] * len(labels or "ab"), "rows": 2})

    @property
    def features(self) -> dict[str, Feature]:
        return {LABEL_INDICATORS: Feature("int64", (len(self._facts["counts"]),), role="target")}

    @property
    def facts(self) -> dict[str, Any]:
        """Return `labels`, in the order of their ids, `counts`, training rows per class, and `rows`, all training rows.

        Before `fit`, if the classes are unknown, there are two counts, and `labels` is None.
        """
        return self._facts

    def use(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._ids = {name: number for number, name in enumerate(facts["labels"] or ())}

    def check(self, row: Row) -> None:
        """Check that the value is a list of classes, and that these are among `labels`, if given."""
        value = row.fields[LABELS]
        if not isinstance(value, str) and not (isinstance(value, list) and all(type(name) is str for name in value)):
            raise DataError(
                "the value of `labels` is no list of classes",
                where=row.where,
                expected=f"a list of texts, or a text with {self._separator!r} between them",
                received=json.dumps(value, ensure_ascii=False)[:40],
            )
        if self._known:
            self._check(self.classes(row), self._known, row.where, what="not a label of `data.targets.labels`")

    def classes(self, row: Row) -> Sequence[str]:
        """List the distinct classes of a row, sorted, with normalized white space."""
        value = row.fields[LABELS]
        names = value.split(self._separator) if isinstance(value, str) else value
        return sorted({" ".join(name.split()) for name in names} - {""})

    def stratum(self, row: Row) -> str:
        return json.dumps(self.classes(row), ensure_ascii=False)

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Find and count the classes.

        Raises:
            DataError: there are fewer than two.
        """
        counts: dict[str, int] = dict.fromkeys(self._known or (), 0)
        for stratum, number in strata.counts.items():
            for name in json.loads(stratum):
                counts[name] = counts.get(name, 0) + number
        labels = self._known or sorted(counts)
        if len(labels) < 2:
            raise DataError(
                "there are fewer than two labels",
                expected="at least 2 classes among the training rows",
                received=", ".join(map(repr, labels)) or "none",
                remedy="Check which column `fields.labels` names, and `data.targets.separator`.",
            )
        self.use({"labels": labels, "counts": [counts[name] for name in labels], "rows": len(strata)})

    def check_known(self, stratum: str, where: str) -> None:
        self._check(json.loads(stratum), self._ids, where, what="a label that no training row has")

    def encode(self, row: Row) -> dict[str, Any]:
        present = set(self.classes(row))
        return {LABEL_INDICATORS: [int(name in present) for name in self._ids]}

    def _check(self, names: Iterable[str], known: Iterable[str], where: str, *, what: str) -> None:
        for name in names:
            if name not in known:
                raise DataError(
                    what,
                    where=where,
                    expected=f"some of {listed(known)}",
                    received=repr(name),
                    remedy=nearest(name, known),
                )
