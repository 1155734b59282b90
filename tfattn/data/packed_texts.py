"""Texts with hidden tokens, several of them packed into one sequence: for models that only fill in."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from tfattn.config.types import Rate
from tfattn.data.encoding import Feature
from tfattn.data.masked_examples import SEQUENCES_AT_ONCE, MaskedExamples, Sequences
from tfattn.data.split_texts import SplitTexts
from tfattn.data.targets import Target
from tfattn.features import PADDING_MASK, SEGMENT_IDS, SEQUENCE_IDS, TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.vocabulary import END, START
from tfattn.preprocessing.wordpiece import WordPiece

SPECIALS = 2  # of a text: [CLS] text [SEP]

Text = tuple[int, int, int]  # its row, and the range of its pieces, the end excluded


class PackedTexts(MaskedExamples):
    """Makes sequences of texts, which are as long as they can be, and hides some of their tokens.

    A text that is longer than the `max_length` of the preprocessing is divided, and so are documents of many lines,
    whose lines are read as one text. Each text has a [CLS] and a [SEP] of its own. Texts of the rows that are prepared
    together, which are of one part of one file, are packed into as few sequences as a simple rule finds: each, the
    longest first, into the sequence that it fills best. `sequence_ids` tell them apart: models read each by itself.

    Args:
        packing: whether several texts share a sequence; else each is one.
        masking: `static` hides tokens once, as records are written; `dynamic` anew in each epoch, as they are read.
            Records that measure are always static.
        dupe_factor: how often each text trains in an epoch, each time with other static masks.
        masked_lm_prob: the fraction of the tokens of a sequence, special ones counted, that are hidden.
        max_predictions_per_seq: the most tokens of a sequence that are hidden; null sets no limit.
        do_whole_word_mask: whether words are hidden with all of their pieces.

    Raises:
        ConfigError: the preprocessing does not split texts into word pieces.
    """

    def __init__(
        self,
        *,
        packing: bool = True,
        masking: Literal["static", "dynamic"] = "dynamic",
        dupe_factor: PositiveInt = 1,
        masked_lm_prob: Rate = 0.15,
        max_predictions_per_seq: PositiveInt | None = None,
        do_whole_word_mask: bool = False,
    ):
        super().__init__(
            masking=masking,
            dupe_factor=dupe_factor,
            masked_lm_prob=masked_lm_prob,
            max_predictions_per_seq=max_predictions_per_seq,
            do_whole_word_mask=do_whole_word_mask,
        )
        self.packing = packing

    def features(self, row: Row, preprocessor: WordPiece, targets: Target) -> dict[str, Feature]:
        found = super().features(row, preprocessor, targets)
        return found | ({SEQUENCE_IDS: Feature("int64", (None,))} if self.packing else {})

    def sequences(
        self, texts: SplitTexts, preprocessor: WordPiece, copies: int, seeds: np.ndarray
    ) -> Iterator[Sequences]:
        start, end = (preprocessor.pieces.vocabulary.id(token) for token in (START, END))
        parts = list(_divided(texts, preprocessor.max_length - SPECIALS))
        every = (
            packed(parts, room=preprocessor.max_length, beside=SPECIALS) if self.packing else [[part] for part in parts]
        )
        for copy in range(copies):
            for first in range(0, len(every), SEQUENCES_AT_ONCE):
                some = every[first : first + SEQUENCES_AT_ONCE]
                rows = np.array([members[0][0] for members in some])
                numbers = np.arange(first, first + len(some)) * copies + copy
                arrays = _arranged(some, texts.pieces, start, end)
                if not self.packing:
                    del arrays[SEQUENCE_IDS]
                yield Sequences(rows, np.stack([seeds[rows].view(np.int64), numbers], axis=1), arrays, values={})


def packed(texts: Sequence[Text], *, room: int, beside: int = 0) -> list[list[Text]]:
    """Pack texts into sequences: each, the longest first, where it leaves the least room; in the order of their rows.

    Args:
        texts: none longer than there is room for.
        room: the most tokens of a sequence, special ones included.
        beside: the special tokens that each text has beside its pieces.
    """
    sequences: list[list[Text]] = []
    open_ones: list[tuple[int, int]] = []  # by the room that is left: and the number of the sequence
    for text in sorted(texts, key=lambda text: text[1] - text[2]):
        length = text[2] - text[1] + beside
        place = bisect_left(open_ones, (length, 0))
        left, number = open_ones.pop(place) if place < len(open_ones) else (room, len(sequences))
        if number == len(sequences):
            sequences.append([])
        sequences[number].append(text)
        if left - length > beside:
            insort(open_ones, (left - length, number))
    return sorted(sorted(texts) for texts in sequences)


def _divided(found: SplitTexts, room: int) -> Iterator[Text]:
    """Divide texts into parts that are short enough."""
    for row, places in zip(*found.documents(), strict=True):
        for begin in range(places[0], places[-1], room):
            yield int(row), begin, min(begin + room, places[-1])


def _arranged(sequences: Sequence[Sequence[Text]], pieces: np.ndarray, start: int, end: int) -> dict[str, np.ndarray]:
    """Arrange texts as [CLS] text [SEP], one after the other: (N, T) by name."""
    lengths = [sum(stop - begin + SPECIALS for _, begin, stop in texts) for texts in sequences]
    token_ids = np.zeros((len(sequences), max(lengths)), np.int32)
    sequence_ids = np.zeros_like(token_ids)
    for number, texts in enumerate(sequences):
        place = 0
        for which, (_, begin, stop) in enumerate(texts, start=1):
            behind = place + stop - begin + SPECIALS
            token_ids[number, place] = start
            token_ids[number, place + 1 : behind - 1] = pieces[begin:stop]
            token_ids[number, behind - 1] = end
            sequence_ids[number, place:behind] = which
            place = behind
    return {
        TOKEN_IDS: token_ids,
        SEGMENT_IDS: np.zeros_like(token_ids),
        SEQUENCE_IDS: sequence_ids,
        PADDING_MASK: sequence_ids > 0,
    }
