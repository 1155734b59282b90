"""Examples for question answering: windows of the context with the question, and the positions of the answer."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tfattn.data.examples.answer_targets import Answers
from tfattn.data.examples.examples import IGNORE_INDEX, Example, Examples, Randomness
from tfattn.features import (
    ANSWERS,
    END_POSITIONS,
    ENDS,
    IS_IMPOSSIBLE,
    MAX_CONTEXT,
    SEGMENT_IDS,
    START_POSITIONS,
    STARTS,
    UNIQUE_IDS,
)
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor

NO_ANSWER_POSITION = 0  # the position of [CLS]

Piece = tuple[int, int]  # first character and end


class AnswerWindows(Examples):
    """Windows with the positions of the first and last token of the answer, or of [CLS] if a window lacks the answer.

    If no answer of a question occurs in its context, the positions are IGNORE_INDEX and the loss ignores the question.
    Precomputed examples of run_squad.py of google-research/bert have no character offsets, so they train only.
    """

    allow_precomputed = "training"

    def require(self, preprocessor: Preprocessor) -> None:
        preprocessor.locate("pieces")

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Answers, randomness: Randomness
    ) -> Iterator[Example]:
        made = super().of(rows, preprocessor, targets, randomness)
        for index, windows in itertools.groupby(made, key=lambda example: example.row):
            windows = list(windows)
            ends = _ends_of_answer(windows, targets.span(rows[index]))
            is_taught = ends is not None or not rows[index].fields[ANSWERS]
            is_impossible = {IS_IMPOSSIBLE: int(not rows[index].fields[ANSWERS])}
            for number, (row, values) in enumerate(windows):
                first, last = _positions(values, ends) if is_taught else (IGNORE_INDEX, IGNORE_INDEX)
                unique_id = (int(randomness.seeds[index]) >> 1) + number
                positions = {START_POSITIONS: first, END_POSITIONS: last, UNIQUE_IDS: unique_id}
                yield Example(row, {**values, **is_impossible, **positions})

    def completed(self, values: dict[str, Any]) -> dict[str, Any]:
        """Mark the tokens of the context: the second segment without its final [SEP]."""
        in_text = [*values.get(SEGMENT_IDS, ())[:-1], 0]
        positions = {STARTS: [0] * len(in_text), ENDS: in_text, MAX_CONTEXT: in_text}
        return {IS_IMPOSSIBLE: 0, UNIQUE_IDS: 0, **values, **positions}


def _ends_of_answer(windows: Sequence[Example], span: tuple[int, int] | None) -> tuple[Piece, Piece] | None:
    """Find the first and the last piece of a span; None without a span, or if no window has a piece of it."""
    if span is None:
        return None
    pieces = {piece for example in windows for piece in _pieces(example.values)}
    inside = sorted(piece for piece in pieces if piece[1] > span[0] and piece[0] < span[1])
    return (inside[0], inside[-1]) if inside else None


def _positions(values: dict, ends: tuple[Piece, Piece] | None) -> tuple[int, int]:
    pieces = _pieces(values)
    if ends is None or ends[0] not in pieces or ends[1] not in pieces:
        return NO_ANSWER_POSITION, NO_ANSWER_POSITION
    return pieces.index(ends[0]), len(pieces) - 1 - pieces[::-1].index(ends[1])


def _pieces(values: dict) -> list[Piece]:
    """List the character ranges of all tokens; tokens outside of the context are (0, 0)."""
    return list(zip(values[STARTS], values[ENDS], strict=True))
