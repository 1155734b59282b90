"""Targets of extractive question answering: the answers in a context."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.targets import Target
from tfattn.errors import DataError
from tfattn.features import (
    ANSWERS,
    CONTEXT,
    END_POSITIONS,
    EXAMPLE,
    IS_IMPOSSIBLE,
    START_POSITIONS,
    UNIQUE_IDS,
)
from tfattn.formats.source import Row

NO_ANSWER = "no answer"
REMARKS = {
    "find": "answer found at another position than stated",
    "drop": "answer dropped: it is not at the stated position",
    "": "answer dropped: it does not occur in its context",
}


class Answers(Target):
    """Answers to questions, from the role `answers`: a list of {"text": ..., "start": ...}, empty without an answer.

    `start` is a character offset in the role `context`. The target is the most frequent answer, or the first of equally
    frequent answers. A question whose answers do not occur in its context is ignored by the loss. Precomputed examples,
    of the role `example`, state themselves whether they have an answer.

    Args:
        misplaced: treatment of an answer that is not at `start`: "find" takes the nearest occurrence, "drop" drops the
            answer.
    """

    roles = (CONTEXT, ANSWERS)
    text_roles = (CONTEXT,)

    def __init__(self, *, misplaced: Literal["find", "drop"] = "find"):
        self._misplaced = misplaced
        self.use({"rows": 1, "unanswerable": 0})

    @property
    def features(self) -> dict[str, Feature]:
        names = (START_POSITIONS, END_POSITIONS, IS_IMPOSSIBLE, UNIQUE_IDS)
        return {name: Feature("int64", role="target") for name in names}

    @property
    def facts(self) -> dict[str, Any]:
        """Return the number of training `rows`, and the number of `unanswerable` rows."""
        return self._facts

    def use(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    def check(self, row: Row) -> None:
        """Check that the value is a list of answers."""
        if EXAMPLE in row.fields:
            return
        found = row.fields[ANSWERS]
        if not isinstance(found, list) or not all(_is_answer(answer) for answer in found):
            raise DataError(
                "the value of `answers` is no list of answers",
                where=row.where,
                expected='[{"text": "...", "start": 0}], or [] where there is none',
                received=json.dumps(found, ensure_ascii=False)[:60],
            )

    def stratum(self, row: Row) -> str:
        if EXAMPLE in row.fields:
            return NO_ANSWER if json.loads(row.fields[EXAMPLE]).get(IS_IMPOSSIBLE) else ""
        return "" if row.fields[ANSWERS] else NO_ANSWER

    def classes(self, row: Row) -> Sequence[str]:
        return (NO_ANSWER,) if self.stratum(row) == NO_ANSWER else ()

    def remarks(self, row: Row) -> Sequence[str]:
        """List the kinds of misplaced answers of a row."""
        if EXAMPLE in row.fields:
            return []
        kinds = {self._locate(row.fields[CONTEXT], **answer)[1] for answer in row.fields[ANSWERS]}
        return [kind for kind in REMARKS.values() if kind in kinds]

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        self.use({"rows": len(strata), "unanswerable": strata.counts.get(NO_ANSWER, 0)})

    def span(self, row: Row) -> tuple[int, int] | None:
        """Return begin and end of the target answer in the context, in characters; None if no answer occurs in it."""
        positions = [self._locate(row.fields[CONTEXT], **answer)[0] for answer in row.fields[ANSWERS]]
        found = Counter(position for position in positions if position is not None)
        return found.most_common(1)[0][0] if found else None

    def _locate(self, context: str, *, text: str, start: int) -> tuple[tuple[int, int] | None, str]:
        """Find the span of an answer, and the remark on it, "" for none."""
        if text and start >= 0 and context.startswith(text, start):
            return (start, start + len(text)), ""
        before = context.rfind(text, 0, max(start, 0) + len(text)) if text.strip() else -1
        after = context.find(text, max(start, 0)) if text.strip() else -1
        positions = [position for position in (before, after) if position >= 0]
        if not positions:
            return None, REMARKS[""]
        if self._misplaced == "drop":
            return None, REMARKS["drop"]
        nearest = min(positions, key=lambda position: abs(position - start))
        return (nearest, nearest + len(text)), REMARKS["find"]


def _is_answer(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"text", "start"}
        and isinstance(value["text"], str)
        and type(value["start"]) is int
    )
