"""Tokenization of texts with [MASK] tokens."""

from pathlib import Path
from typing import Any

import tensorflow as tf

from tfattn.features import MASKED_LM_POSITIONS, TOKEN_IDS
from tfattn.preprocessing.encoder_tokens import EncoderTokens, TextPieces
from tfattn.preprocessing.marked_pieces import MarkedPieces
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.vocabulary import MASK


class MaskedText(Preprocessor):
    """Tokenization that parses [MASK] in texts as the mask token, which may have another name.

    Ordinary texts must not gain special tokens, so only the prediction of masked tokens uses this class. As in
    transformers, [MASK] is found before case is folded: [mask] is three words.

    Args:
        tokenizer: a fitted tokenizer whose vocabulary has a mask token. Long texts are cut, even if it reads windows.
    """

    def __init__(self, tokenizer: EncoderTokens):
        super().__init__()
        self.fields = tokenizer.fields
        self.max_length = tokenizer.max_length
        self._plain = tokenizer
        self._mask_id = tokenizer.mask_id
        marked = MarkedPieces(tokenizer.pieces, {MASK: self._mask_id}, takes_space=tokenizer.special.mask_takes_space)
        self._masked = tokenizer.with_pieces(marked)

    @property
    def sizes(self) -> dict[str, int]:
        return self._plain.sizes

    @property
    def tokens(self) -> list[str]:
        """The tokens of the vocabulary, in the order of their ids."""
        return self._plain.tokens

    @property
    def pieces(self) -> TextPieces:
        """The splitting of texts into pieces."""
        return self._masked.pieces

    @property
    def boundary_ids(self) -> list[int]:
        """The ids of the tokens before and after a text."""
        return self._plain.boundary_ids

    def save(self, folder: Path) -> None:
        """Write the files of the tokenizer."""
        self._plain.save(folder)

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Tokenize texts.

        Args:
            fields: as for the tokenizer.

        Returns:
            `token_ids` and `segment_ids`, ragged (B, (T)) int32, and the positions of [MASK], `masked_lm_positions`,
            ragged (B, (P)) int32.
        """
        features = self._masked(fields)
        token_ids = features[TOKEN_IDS]
        positions = tf.ragged.range(tf.cast(token_ids.row_lengths(), tf.int32), row_splits_dtype=tf.int64)
        return {**features, MASKED_LM_POSITIONS: tf.ragged.boolean_mask(positions, token_ids == self._mask_id)}

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """Find texts that are longer than max_length: (B,) bool."""
        return self._masked.truncated(fields)
