"""Targets of ranking: the grade of relevance of each document of a query."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.targets import Target
from tfattn.errors import DataError
from tfattn.features import DOCUMENTS, GRADE_MASK, GRADES
from tfattn.formats.numbers import read
from tfattn.formats.source import Row

MAX_GRADE = 1e6
ONE_DOCUMENT = "a query has a single document"
NOT_RELEVANT = "no document of a query is relevant"
ALL_EQUAL = "all documents of a query have the same grade"


class Grades(Target):
    """The grades of the role `documents`, a list of texts, from the role `grades`, a list of numbers.

    A grade is a number from 0, not relevant, upwards; binary labels are 0 and 1.
    """

    roles = (DOCUMENTS, GRADES)

    def __init__(self) -> None:
        self.use({"highest": 1.0})

    @property
    def features(self) -> dict[str, Feature]:
        return {GRADES: Feature("float32", (None,), mask=GRADE_MASK, role="target")}

    @property
    def facts(self) -> dict[str, Any]:
        """Return `highest`, the highest grade of training rows."""
        return self._facts

    def use(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    def check(self, row: Row) -> None:
        """Check that the documents are different texts, and that each has a grade."""
        documents, grades = row.fields[DOCUMENTS], row.fields[GRADES]
        if not (isinstance(documents, list) and documents and all(type(text) is str for text in documents)):
            raise DataError(
                "the value of `documents` is not a list of texts",
                where=row.where,
                expected='a list such as ["Water boils at 100 °C.", "Ice is water."]',
                received=json.dumps(documents, ensure_ascii=False)[:40],
                remedy="For a file with a document in each line, use the source `grouped_documents`.",
            )
        for number, text in enumerate(documents):
            if not text.strip():
                raise DataError(
                    f"document {number} of {len(documents)} is empty, counted from 0",
                    where=row.where,
                    expected="a text",
                    received=repr(text),
                )
            if text in documents[:number]:
                raise DataError(
                    f"document {number} of {len(documents)} repeats document {documents.index(text)}, counted from 0",
                    where=row.where,
                    expected="each document once",
                    received=repr(text[:40]),
                )
        if not isinstance(grades, list) or len(grades) != len(documents):
            raise DataError(
                "there is not a grade for each document",
                where=row.where,
                expected=f"a list of {len(documents)} numbers",
                received=json.dumps(grades, ensure_ascii=False)[:40],
            )
        for number, grade in enumerate(grades):
            if _number(grade) is None:
                raise DataError(
                    f"the grade of document {number} is no grade, counted from 0",
                    where=row.where,
                    expected="a number from 0, not relevant, upwards, such as 0 or 1",
                    received=json.dumps(grade, ensure_ascii=False)[:40],
                    remedy="Replace words such as `relevant` by numbers.",
                )

    def remarks(self, row: Row) -> Sequence[str]:
        grades = self.encode(row)[GRADES]
        if len(grades) == 1:
            return [ONE_DOCUMENT]
        if not max(grades):
            return [NOT_RELEVANT]
        return [ALL_EQUAL] if min(grades) == max(grades) else []

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Find the highest grade.

        Raises:
            DataError: no list has documents of different grades.
        """
        highest, is_useful = 0.0, False
        for row in rows:
            grades = self.encode(row)[GRADES]
            highest = max(highest, *grades)
            is_useful |= min(grades) < max(grades)
        if not is_useful:
            raise DataError(
                "there is nothing to rank",
                expected="training queries with documents of different grades",
                received="equal grades in every list",
                remedy="Add documents that are not relevant: the source `mined_negatives` finds some.",
            )
        self.use({"highest": highest})

    def encode(self, row: Row) -> dict[str, Any]:
        return {GRADES: [_number(grade) for grade in row.fields[GRADES]]}


def _number(grade: Any) -> float | None:
    """Return the number of a grade; None if it is no grade."""
    value = read(grade) if isinstance(grade, str) else grade
    return float(value) if isinstance(value, int | float) and 0 <= value <= MAX_GRADE else None
