"""Examples for masked language modeling: their features, and static or dynamic masking.

Static masks are sampled when records are written, dynamic masks in each epoch when records are read. Evaluation records
always have static masks, so that repeated evaluations agree.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.data.examples.encoding import INPUT_MASK, STORED_NAMES, Feature
from tfattn.data.examples.examples import Example, Examples, Randomness
from tfattn.data.examples.split_texts import SplitTexts
from tfattn.data.examples.targets import Target
from tfattn.data.examples.token_masking import TokenMasking
from tfattn.data.examples.transforms import Transform
from tfattn.errors import ConfigError, DataError
from tfattn.features import (
    MASKED_LM_IDS,
    MASKED_LM_POSITIONS,
    MASKED_LM_WEIGHTS,
    PADDING_MASK,
    SEGMENT_IDS,
    TOKEN_IDS,
)
from tfattn.formats.source import Row
from tfattn.preprocessing.encoder_tokens import EncoderTokens
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown
from tfattn.preprocessing.vocabulary import MASK

# The predictions of a record: its number of masked tokens, which its weights mark.
MASKED_FEATURES = {
    MASKED_LM_POSITIONS: Feature("int64", (None,), mask=None, role="target"),
    MASKED_LM_IDS: Feature("int64", (None,), mask=None, role="target"),
    MASKED_LM_WEIGHTS: Feature("float32", (None,), mask=None, role="target"),
}
SEQUENCES_AT_ONCE = 1024
_NO_PREDICTIONS = {name: np.zeros(0, np.int32) for name in MASKED_FEATURES}


class Sequences(NamedTuple):
    """N sequences before masking.

    Attributes:
        rows: (N,) int64, the index of the row of each sequence.
        seeds: (N, 2) int64, the seeds of the masks.
        arrays: by model name, (N, T): token ids, the padding mask, and other features per token.
        values: by name, (N,), the other features of each sequence.
    """

    rows: np.ndarray
    seeds: np.ndarray
    arrays: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]


class MaskedExamples(Examples):
    """Sequences of texts with masked tokens; the contract of all masked examples.

    A subclass implements `sequences`. Rows have one role, whose texts may have several lines.

    Args:
        masking: "static" masks tokens once, when records are written; "dynamic" in each epoch, when they are read.
        dupe_factor: number of times that each row is turned into training examples.
        masked_lm_prob, max_predictions_per_seq: see `TokenMasking`.
        do_whole_word_mask: whether all pieces of a word are masked together.
    """

    keep_adjacent = False
    made_of = "texts that have a word"
    allow_precomputed = "all"

    def __init__(
        self,
        *,
        masking: Literal["static", "dynamic"],
        dupe_factor: int,
        masked_lm_prob: float,
        max_predictions_per_seq: int | None,
        do_whole_word_mask: bool,
    ):
        self.masking = masking
        self.dupe_factor = dupe_factor
        self.masked_lm_prob = masked_lm_prob
        self.max_predictions_per_seq = max_predictions_per_seq
        self._do_whole_word_mask = do_whole_word_mask
        self._split = functools.lru_cache(maxsize=1)(SplitTexts.of)  # several methods use the result
        self.writer = functools.cache(lambda preprocessor: Writer(self._masking(preprocessor)))  # compiles a graph

    def sequences(
        self, texts: SplitTexts, preprocessor: EncoderTokens, copies: int, seeds: np.ndarray
    ) -> Iterator[Sequences]:
        """Yield batches of sequences of the pieces of rows.

        Args:
            texts: the tokenized texts of the rows.
            preprocessor: fitted.
            copies: number of times that each row is turned into sequences.
            seeds: (rows,) uint64, random seeds of the rows.
        """
        raise NotImplementedError

    def require(self, preprocessor: Preprocessor) -> None:
        """Check that the preprocessor splits one text into word pieces."""
        if not isinstance(preprocessor, EncoderTokens) or len(preprocessor.fields) != 1 or preprocessor.doc_stride:
            raise ConfigError(
                "texts whose tokens are hidden are split into word pieces",
                key="preprocessing",
                expected="wordpiece or pretrained_tokenizer, of one field and without a doc_stride",
                received=f"{type(preprocessor).__name__} of {', '.join(preprocessor.fields)}",
            )

    def truncated(self, rows: Sequence[Row], preprocessor: EncoderTokens) -> np.ndarray:
        return np.zeros(len(rows), bool)  # long texts are divided

    def unknown(self, rows: Sequence[Row], preprocessor: EncoderTokens) -> dict[str, Unknown]:
        return self.texts(rows, preprocessor).unknown(preprocessor)

    def features(self, row: Row, preprocessor: EncoderTokens, targets: Target) -> dict[str, Feature]:
        check_mask(preprocessor)
        return {"input_ids": Feature("int64", (None,)), SEGMENT_IDS: Feature("int64", (None,)), **MASKED_FEATURES}

    def of(
        self, rows: Sequence[Row], preprocessor: EncoderTokens, targets: Target, randomness: Randomness
    ) -> Iterator[Example]:
        is_dynamic = randomness.is_training and self.masking == "dynamic"
        write = Writer(None) if is_dynamic else self.writer(preprocessor)
        copies = self.dupe_factor if randomness.is_training else 1
        for some in self.sequences(self.texts(rows, preprocessor), preprocessor, copies, randomness.seeds):
            yield from write(some)

    def transforms(self, preprocessor: EncoderTokens) -> Sequence[Transform]:
        return [self._masking(preprocessor)] if self.masking == "dynamic" else []

    def texts(self, rows: Sequence[Row], preprocessor: EncoderTokens) -> SplitTexts:
        """Tokenize the texts of rows."""
        (field,) = preprocessor.fields
        return self._split(tuple(row.fields[field] for row in rows), preprocessor)

    def _masking(self, preprocessor: EncoderTokens) -> TokenMasking:
        """Create the masking transform."""
        continuing = [number for number, continues in enumerate(preprocessor.pieces.continues) if continues]
        return TokenMasking(
            mask_id=preprocessor.mask_id,
            special_ids=preprocessor.special_ids,
            vocabulary_size=len(preprocessor.pieces.tokens),
            continuing_ids=continuing if self._do_whole_word_mask else (),
            masked_lm_prob=self.masked_lm_prob,
            max_predictions_per_seq=self.max_predictions_per_seq,
        )


class Writer:
    """Conversion of sequences to examples.

    Args:
        masking: the masking of the sequences; None if they are masked when they are read.
    """

    def __init__(self, masking: TokenMasking | None):
        self._masking = masking and tf.function(masking, autograph=False, reduce_retracing=True)

    def __call__(self, sequences: Sequences) -> Iterator[Example]:
        """Yield the example of each sequence, without padding."""
        columns = self.columns(sequences)
        lengths = columns.pop(INPUT_MASK).sum(axis=1).tolist()
        predictions = {name: columns.pop(name) for name in MASKED_FEATURES if name in columns}
        counts = predictions[MASKED_LM_WEIGHTS].astype(bool).sum(axis=1).tolist() if predictions else ()
        for number, row in enumerate(sequences.rows.tolist()):
            values = {name: column[number, : lengths[number]] for name, column in columns.items()}
            masked = {name: column[number, : counts[number]] for name, column in predictions.items()} or _NO_PREDICTIONS
            others = {name: column[number] for name, column in sequences.values.items()}
            yield Example(row, {**values, **others, **masked})

    def columns(self, sequences: Sequences) -> dict[str, np.ndarray]:
        """Mask tokens, and return all arrays by the names in files, (N, T) and (N, P)."""
        columns = {STORED_NAMES.get(name, name): values for name, values in sequences.arrays.items()}
        columns[INPUT_MASK] = columns.pop(PADDING_MASK)
        if self._masking:
            read = {name: tf.constant(sequences.arrays[name]) for name in (TOKEN_IDS, PADDING_MASK)}
            hidden = self._masking(read, tf.constant(sequences.seeds))
            columns[STORED_NAMES[TOKEN_IDS]] = hidden[TOKEN_IDS].numpy()
            columns |= {name: hidden[name].numpy() for name in MASKED_FEATURES}
        return columns


def check_mask(preprocessor: EncoderTokens) -> None:
    """Check that the vocabulary has a mask token.

    Raises:
        DataError: the vocabulary has no mask token.
    """
    if preprocessor.mask_id is None:
        raise DataError(
            "the vocabulary has no mask",
            where="data.preprocessing.vocabulary",
            expected=f"a token {MASK}, which hides others",
            received=f"{len(preprocessor.tokens):,} tokens without it",
            remedy=f"Rename one that no text has, such as [unused1], to {MASK}, or set `vocabulary: train`.",
        )
