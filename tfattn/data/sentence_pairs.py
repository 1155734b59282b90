"""Pairs of texts with hidden tokens, out of documents: what BERT is pre-trained on."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from tfattn.config.types import Fraction, Rate
from tfattn.data.encoding import Feature
from tfattn.data.masked_examples import SEQUENCES_AT_ONCE, MaskedExamples, Sequences
from tfattn.data.pair_drawing import SHORTEST, pairs_of
from tfattn.data.split_texts import SplitTexts
from tfattn.data.targets import Target
from tfattn.errors import ConfigError
from tfattn.features import NEXT_SENTENCE_LABELS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.vocabulary import END, START
from tfattn.preprocessing.wordpiece import WordPiece

SPECIALS = 3  # of a pair: [CLS] first [SEP] second [SEP]


class SentencePairs(MaskedExamples):
    """Makes pairs of texts, of which half do not follow each other, and hides some of their tokens.

    A row is a document, one sentence a line. Pairs are made of whole sentences as `pairs_of` says, random texts come
    from other documents among the rows that are prepared together, which are of one part of one file, and tokens are
    hidden as `TokenMasking` says. The longest sequence is the `max_length` of the preprocessing.

    Args:
        masking: `static` hides tokens once, as records are written; `dynamic` anew in each epoch, as they are read.
            Records that measure are always static.
        dupe_factor: how often each document is made into pairs for training, each time with other pairs and masks.
        masked_lm_prob: the fraction of the tokens of a sequence, special ones counted, that are hidden.
        max_predictions_per_seq: the most tokens of a sequence that are hidden; null sets no limit.
        short_seq_prob: the probability that the pairs of a document are shorter than they could be.
        do_whole_word_mask: whether words are hidden with all of their pieces.

    Raises:
        ConfigError: the preprocessing does not split texts into word pieces, or leaves no room for two.
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
        if preprocessor.max_length < SPECIALS + SHORTEST:
            raise ConfigError(
                "there is no room for two texts",
                key="preprocessing.max_length",
                expected=f"at least {SPECIALS + SHORTEST}, [CLS] and two [SEP]s included",
                received=str(preprocessor.max_length),
            )

    def features(self, row: Row, preprocessor: WordPiece, targets: Target) -> dict[str, Feature]:
        return super().features(row, preprocessor, targets) | {NEXT_SENTENCE_LABELS: Feature("int64", role="target")}

    def sequences(
        self, texts: SplitTexts, preprocessor: WordPiece, copies: int, seeds: np.ndarray
    ) -> Iterator[Sequences]:
        start, end = (preprocessor.pieces.vocabulary.id(token) for token in (START, END))
        drawn = self._drawn(texts, preprocessor.max_length - SPECIALS, copies, seeds)
        while some := list(islice(drawn, SEQUENCES_AT_ONCE)):
            yield _arranged(np.array(some, np.int64), texts.pieces, seeds, start, end)

    def _drawn(self, texts: SplitTexts, room: int, copies: int, seeds: np.ndarray) -> Iterator[tuple[int, ...]]:
        """Yield of each pair the row, its number among those of the row, and what `pairs_of` gives."""
        rows, documents = texts.documents()
        for place, row in enumerate(rows.tolist()):
            random, number = Random(int(seeds[row])), 0
            for _ in range(copies):
                for pair in pairs_of(documents, place, room=room, short_seq_prob=self.short_seq_prob, random=random):
                    yield row, number, *pair
                    number += 1


def _arranged(drawn: np.ndarray, pieces: np.ndarray, seeds: np.ndarray, start: int, end: int) -> Sequences:
    """Arrange pairs as [CLS] first [SEP] second [SEP].

    Args:
        drawn: (N, 7), what `_drawn` yields.
        pieces: the ids that ranges are of.
        seeds: of all rows.
        start, end: the ids of [CLS] and [SEP].
    """
    rows, numbers, first_begin, first_end, second_begin, second_end, is_random = drawn.T[:, :, None]
    first = first_end - first_begin
    lengths = first + second_end - second_begin + SPECIALS
    place = np.arange(lengths.max())  # of a token in its sequence
    real = place < lengths
    of_first, of_second = (place > 0) & (place <= first), (place > first + 1) & (place < lengths - 1)
    source = np.where(of_first, first_begin + place - 1, np.where(of_second, second_begin + place - first - 2, 0))
    token_ids = np.where(of_first | of_second, pieces[source], np.where(real, end, 0)).astype(np.int32)
    token_ids[:, 0] = start
    return Sequences(
        rows=rows[:, 0],
        seeds=np.stack([seeds[rows[:, 0]].view(np.int64), numbers[:, 0]], axis=1),
        arrays={
            TOKEN_IDS: token_ids,
            SEGMENT_IDS: ((place > first + 1) & real).astype(np.int32),
            PADDING_MASK: real,
        },
        values={NEXT_SENTENCE_LABELS: is_random[:, 0]},
    )
