"""Packed texts with masked tokens, for masked language modeling without sentence pairs."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from tfattn.config.types import Rate
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.masked_examples import SEQUENCES_AT_ONCE, MaskedExamples, Sequences
from tfattn.data.examples.split_texts import SplitTexts
from tfattn.data.examples.targets import Target
from tfattn.features import PADDING_MASK, SEGMENT_IDS, SEQUENCE_IDS, TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.encoder_tokens import EncoderTokens

SPECIALS = 2  # special tokens of a text: [CLS] text [SEP]

Text = tuple[int, int, int]  # row, and begin and end of the range of pieces, end excluded


class PackedTexts(MaskedExamples):
    """Sequences packed with as many texts as fit, with masked tokens.

    The lines of a row form one text. Texts longer than the `max_length` of the preprocessing are divided. Each text has
    its own [CLS] and [SEP]. The texts of a part of a file are packed best-fit decreasing: each text, the longest first,
    goes into the sequence where it leaves the least room. `sequence_ids` separate the texts for attention.

    Args:
        packing: whether several texts share a sequence; otherwise each text is a sequence.
        masking: `static` masks tokens once, when records are written; `dynamic` in each epoch, when they are read.
            Evaluation records are always static.
        dupe_factor: number of times that each text is trained on per epoch, with different static masks.
        masked_lm_prob: fraction of the tokens of a sequence, special tokens included, that are masked.
        max_predictions_per_seq: maximum number of masked tokens per sequence; null sets no limit.
        do_whole_word_mask: whether all pieces of a word are masked together.

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

    def features(self, row: Row, preprocessor: EncoderTokens, targets: Target) -> dict[str, Feature]:
        found = super().features(row, preprocessor, targets)
        return found | ({SEQUENCE_IDS: Feature("int64", (None,))} if self.packing else {})

    def sequences(
        self, texts: SplitTexts, preprocessor: EncoderTokens, copies: int, seeds: np.ndarray
    ) -> Iterator[Sequences]:
        start, end = preprocessor.start_id, preprocessor.end_id
        parts = list(_divided(texts, preprocessor.max_length - SPECIALS))
        every = (
            packed(parts, room=preprocessor.max_length, num_special=SPECIALS)
            if self.packing
            else [[part] for part in parts]
        )
        for copy in range(copies):
            for first in range(0, len(every), SEQUENCES_AT_ONCE):
                some = every[first : first + SEQUENCES_AT_ONCE]
                rows = np.array([members[0][0] for members in some])
                numbers = np.arange(first, first + len(some)) * copies + copy
                arrays = _assemble(some, texts.pieces, start, end)
                if not self.packing:
                    del arrays[SEQUENCE_IDS]
                yield Sequences(rows, np.stack([seeds[rows].view(np.int64), numbers], axis=1), arrays, values={})


def packed(texts: Sequence[Text], *, room: int, num_special: int = 0) -> list[list[Text]]:
    """Pack texts into sequences, best-fit decreasing, and return the sequences in the order of rows.

    Args:
        texts: texts that each fit into a sequence.
        room: maximum number of tokens per sequence, special tokens included.
        num_special: number of special tokens added to each text.
    """
    sequences: list[list[Text]] = []
    open_sequences: list[tuple[int, int]] = []  # room left, index of the sequence; sorted
    for text in sorted(texts, key=lambda text: text[1] - text[2]):
        length = text[2] - text[1] + num_special
        position = bisect_left(open_sequences, (length, 0))
        left, number = open_sequences.pop(position) if position < len(open_sequences) else (room, len(sequences))
        if number == len(sequences):
            sequences.append([])
        sequences[number].append(text)
        if left - length > num_special:
            insort(open_sequences, (left - length, number))
    return sorted(sorted(texts) for texts in sequences)


def _divided(found: SplitTexts, room: int) -> Iterator[Text]:
    """Divide texts into parts of at most `room` pieces."""
    for row, positions in zip(*found.documents(), strict=True):
        for begin in range(positions[0], positions[-1], room):
            yield int(row), begin, min(begin + room, positions[-1])


def _assemble(sequences: Sequence[Sequence[Text]], pieces: np.ndarray, start: int, end: int) -> dict[str, np.ndarray]:
    """Assemble consecutive [CLS] text [SEP] in each sequence: (N, T) by name."""
    lengths = [sum(stop - begin + SPECIALS for _, begin, stop in texts) for texts in sequences]
    token_ids = np.zeros((len(sequences), max(lengths)), np.int32)
    sequence_ids = np.zeros_like(token_ids)
    for number, texts in enumerate(sequences):
        position = 0
        for which, (_, begin, stop) in enumerate(texts, start=1):
            stop_position = position + stop - begin + SPECIALS
            token_ids[number, position] = start
            token_ids[number, position + 1 : stop_position - 1] = pieces[begin:stop]
            token_ids[number, stop_position - 1] = end
            sequence_ids[number, position:stop_position] = which
            position = stop_position
    return {
        TOKEN_IDS: token_ids,
        SEGMENT_IDS: np.zeros_like(token_ids),
        SEQUENCE_IDS: sequence_ids,
        PADDING_MASK: sequence_ids > 0,
    }
