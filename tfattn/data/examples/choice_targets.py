"""Targets of multiple choice: the correct choice of a row."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.targets import Target
from tfattn.errors import DataError, listed
from tfattn.features import CHOICES, LABEL, LABEL_IDS
from tfattn.formats.source import Row

DUPLICATE_CHOICES = "two choices of a row are the same"


class Choices(Target):
    """The correct choice of the role `choices`, a list of at least two texts, from the role `label`.

    Args:
        label: the meaning of labels: "number" is the index of the correct choice, from 0; "text" is the choice itself.
    """

    roles = (CHOICES, LABEL)
    text_roles = (LABEL,)

    def __init__(self, *, label: Literal["number", "text"] = "number"):
        self._label = label

    @property
    def features(self) -> dict[str, Feature]:
        return {LABEL_IDS: Feature("int64", role="target")}

    def check(self, row: Row) -> None:
        """Check the list of choices, and that the label is one of them."""
        choices = row.fields[CHOICES]
        if not (isinstance(choices, list) and all(type(choice) is str for choice in choices)):
            raise DataError(
                "the value of `choices` is not a list of texts",
                where=row.where,
                expected='a list such as ["yes", "no"]; in a table, `fields.choices` is a list of columns',
                received=json.dumps(choices, ensure_ascii=False)[:40],
            )
        if len(choices) < 2:
            raise DataError(
                "there is nothing to choose from",
                where=row.where,
                expected="at least 2 choices",
                received=str(len(choices)),
            )
        for number, choice in enumerate(choices):
            if not choice.strip():
                raise DataError(
                    f"choice {number} of {len(choices)} is empty, counted from 0",
                    where=row.where,
                    expected="a text",
                    received=repr(choice),
                )
        if choices[-1] == choices[0]:
            raise DataError(
                "the last choice of a row repeats the first",
                where=row.where,
                expected="another text: exports take such repetitions for the padding of servers that batch requests",
                received=json.dumps(choices, ensure_ascii=False)[:200],
                remedy="Remove the choice, or change the order of the choices and the label with it.",
            )
        self._label_id(row)

    def remarks(self, row: Row) -> Sequence[str]:
        choices = row.fields[CHOICES]
        return [DUPLICATE_CHOICES] if len(set(choices)) < len(choices) else []

    def stratum(self, row: Row) -> str:
        return str(self._label_id(row))

    def classes(self, row: Row) -> Sequence[str]:
        """Return the index of the correct choice, from 0, as a class."""
        return (f"choice {self._label_id(row)}",)

    def encode(self, row: Row) -> dict[str, Any]:
        return {LABEL_IDS: self._label_id(row)}

    def _label_id(self, row: Row) -> int:
        """Return the index of the correct choice."""
        choices, label = row.fields[CHOICES], row.fields[LABEL].strip()
        if self._label == "text":
            stripped = [choice.strip() for choice in choices]
            if label not in stripped:
                raise DataError(
                    "the label is none of the choices",
                    where=row.where,
                    expected=f"one of {listed(choices)}",
                    received=repr(label),
                    remedy="Set `data.targets.label: number`, if it is the number of the right one.",
                )
            return stripped.index(label)
        if not label.isdecimal() or int(label) >= len(choices):
            raise DataError(
                "the label is not the number of a choice",
                where=row.where,
                expected=f"0 to {len(choices) - 1}, counted from 0",
                received=repr(label),
                remedy="" if label.isdecimal() else "Set `data.targets.label: text`, if it is the right choice itself.",
            )
        return int(label)
