"""Sentence pairs with masked tokens, for pre-training of BERT."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from tfattn.config.types import Fraction, Rate
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.masked_examples import SEQUENCES_AT_ONCE, MaskedExamples, Sequences
from tfattn.data.examples.pair_sampling import MIN_PIECES, sample_pairs
from tfattn.data.examples.split_texts import SplitTexts
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError
from tfattn.features import NEXT_SENTENCE_LABELS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.encoder_tokens import EncoderTokens
from tfattn.preprocessing.preprocessor import Preprocessor

SPECIALS = 3  # special tokens of a pair: [CLS] first [SEP] second [SEP]


class SentencePairs(MaskedExamples):
    """Pairs of texts for next sentence prediction, with masked tokens. In half of the pairs the second text is random.

    A row is a document with one sentence per line. `sample_pairs` builds pairs of whole sentences; random texts are
    from other documents of the same part of a file; `TokenMasking` masks tokens. Sequences have at most the
    `max_length` of the preprocessing.

    Args:
        masking: `static` masks tokens once, when records are written; `dynamic` in each epoch, when they are read.
            Evaluation records are always static.
        dupe_factor: number of times that each document is divided into training pairs, with different pairs and masks.
        masked_lm_prob: fraction of the tokens of a sequence, special tokens included, that are masked.
        max_predictions_per_seq: maximum number of masked tokens per sequence; null sets no limit.
        short_seq_prob: probability that the pairs of a document are shorter than the maximum.
        do_whole_word_mask: whether all pieces of a word are masked together.

    Raises:
        ConfigError: the preprocessing does not split texts into word pieces, or `max_length` has no room for two texts.
    """

    made_of = "documents of two sentences or more, one a line"

    def __init__(
        self,
        *,
        masking: Literal["static", "dynamic"] = "static",
        dupe_factor: PositiveInt = 10,
        masked_lm_prob: Rate = 0.15,
        max_predictions_per_seq: PositiveInt | None = None,
        short_seq_prob: Fraction = 0.1,
        do_whole_word_mask: bool = False,
    ):
        super().__init__(
            masking=masking,
            dupe_factor=dupe_factor,
            masked_lm_prob=masked_lm_prob,
            max_predictions_per_seq=max_predictions_per_seq,
            do_whole_word_mask=do_whole_word_mask,
        )
        self.short_seq_prob = short_seq_prob

    def require(self, preprocessor: Preprocessor) -> None:
        super().require(preprocessor)
        if preprocessor.max_length < SPECIALS + MIN_PIECES:
            raise ConfigError(
                "there is no room for two texts",
                key="preprocessing.max_length",
                expected=f"at least {SPECIALS + MIN_PIECES}, [CLS] and two [SEP]s included",
                received=str(preprocessor.max_length),
            )

    def features(self, row: Row, preprocessor: EncoderTokens, targets: Target) -> dict[str, Feature]:
        return super().features(row, preprocessor, targets) | {NEXT_SENTENCE_LABELS: Feature("int64", role="target")}

    def sequences(
        self, texts: SplitTexts, preprocessor: EncoderTokens, copies: int, seeds: np.ndarray
    ) -> Iterator[Sequences]:
        start, end = preprocessor.start_id, preprocessor.end_id
        drawn = self._pairs(texts, preprocessor.max_length - SPECIALS, copies, seeds)
        while some := list(islice(drawn, SEQUENCES_AT_ONCE)):
            yield _assemble(np.array(some, np.int64), texts.pieces, seeds, start, end)

    def _pairs(self, texts: SplitTexts, room: int, copies: int, seeds: np.ndarray) -> Iterator[tuple[int, ...]]:
        """Yield the row of each pair, its index among the pairs of the row, and the fields of the `Pair`."""
        rows, documents = texts.documents()
        for position, row in enumerate(rows.tolist()):
            random, number = Random(int(seeds[row])), 0
            for _ in range(copies):
                for pair in sample_pairs(
                    documents, position, room=room, short_seq_prob=self.short_seq_prob, random=random
                ):
                    yield row, number, *pair
                    number += 1


def _assemble(drawn: np.ndarray, pieces: np.ndarray, seeds: np.ndarray, start: int, end: int) -> Sequences:
    """Assemble sequences [CLS] first [SEP] second [SEP].

    Args:
        drawn: (N, 7), the rows of `_pairs`.
        pieces: piece ids, which the ranges index.
        seeds: seeds of all rows.
        start, end: the ids of [CLS] and [SEP].
    """
    rows, numbers, first_begin, first_end, second_begin, second_end, is_random = drawn.T[:, :, None]
    first = first_end - first_begin
    lengths = first + second_end - second_begin + SPECIALS
    position = np.arange(lengths.max())
    real = position < lengths
    of_first, of_second = (position > 0) & (position <= first), (position > first + 1) & (position < lengths - 1)
    source = np.where(of_first, first_begin + position - 1, np.where(of_second, second_begin + position - first - 2, 0))
    token_ids = np.where(of_first | of_second, pieces[source], np.where(real, end, 0)).astype(np.int32)
    token_ids[:, 0] = start
    return Sequences(
        rows=rows[:, 0],
        seeds=np.stack([seeds[rows[:, 0]].view(np.int64), numbers[:, 0]], axis=1),
        arrays={
            TOKEN_IDS: token_ids,
            SEGMENT_IDS: ((position > first + 1) & real).astype(np.int32),
            PADDING_MASK: real,
        },
        values={NEXT_SENTENCE_LABELS: is_random[:, 0]},
    )
