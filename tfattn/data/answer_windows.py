"""Examples of questions about texts: windows of the text, each with the question, and where the answer stands."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tfattn.data.answer_targets import Answers
from tfattn.data.examples import Drawing, Example, Examples
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

NOT_HERE = 0  # the answer is that of [CLS]
IGNORE_INDEX = -1

Piece = tuple[int, int]  # its first character, and the one behind its last


class AnswerWindows(Examples):
    """Tells the first and the last token of the answer in each window that has all of it, and [CLS] in the others.

    A question whose answers stand nowhere in its text teaches nothing: its positions are -1. Those that run_squad.py of
    google-research/bert has made do not say where their tokens stand in the text, and are not measured by it.
    """

    allow_precomputed = "training"

    def require(self, preprocessor: Preprocessor) -> None:
        preprocessor.locate("pieces")

    def of(
        self, rows: Sequence[Row], preprocessor: Preprocessor, targets: Answers, drawing: Drawing
    ) -> Iterator[Example]:
        made = super().of(rows, preprocessor, targets, drawing)
        for place, windows in itertools.groupby(made, key=lambda example: example.row):
            windows = list(windows)
            ends = _ends_of_answer(windows, targets.span(rows[place]))
            is_taught = ends is not None or not rows[place].fields[ANSWERS]
            told = {IS_IMPOSSIBLE: int(not rows[place].fields[ANSWERS])}
            for number, (row, values) in enumerate(windows):
                first, last = _positions(values, ends) if is_taught else (IGNORE_INDEX, IGNORE_INDEX)
                unique_id = (int(drawing.seeds[place]) >> 1) + number
                places = {START_POSITIONS: first, END_POSITIONS: last, UNIQUE_IDS: unique_id}
                yield Example(row, {**values, **told, **places})

    def completed(self, values: dict[str, Any]) -> dict[str, Any]:
        """Tell which tokens stand in the text: the second segment without the [SEP] that ends it."""
        in_text = [*values.get(SEGMENT_IDS, ())[:-1], 0]
        places = {STARTS: [0] * len(in_text), ENDS: in_text, MAX_CONTEXT: in_text}
        return {IS_IMPOSSIBLE: 0, UNIQUE_IDS: 0, **values, **places}


def _ends_of_answer(windows: Sequence[Example], span: tuple[int, int] | None) -> tuple[Piece, Piece] | None:
    """Find the first and the last piece of a span; None where there is none, or it has no piece that was read."""
    if span is None:
        return None
    pieces = {piece for example in windows for piece in _pieces(example.values)}
    inside = sorted(piece for piece in pieces if piece[1] > span[0] and piece[0] < span[1])
    return (inside[0], inside[-1]) if inside else None


def _positions(values: dict, ends: tuple[Piece, Piece] | None) -> tuple[int, int]:
    pieces = _pieces(values)
    if ends is None or ends[0] not in pieces or ends[1] not in pieces:
        return NOT_HERE, NOT_HERE
    return pieces.index(ends[0]), len(pieces) - 1 - pieces[::-1].index(ends[1])


def _pieces(values: dict) -> list[Piece]:
    """List all tokens of an example; those that stand nowhere in the text are (0, 0)."""
    return list(zip(values[STARTS], values[ENDS], strict=True))
