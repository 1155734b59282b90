"""Tokenization of texts with [MASK] tokens."""

from pathlib import Path
from typing import Any

import tensorflow as tf

from tfattn.features import MASKED_LM_POSITIONS, TOKEN_IDS
from tfattn.preprocessing.pieces import Pieces
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.vocabulary import MASK
from tfattn.preprocessing.wordpiece import WordPiece


class MaskedText(Preprocessor):
    """WordPiece tokenization that parses [MASK] in texts as the mask token.

    Ordinary texts must not gain special tokens, so only the prediction of masked tokens uses this class. As in
    transformers, [MASK] is found before case is folded: [mask] is three words.

    Args:
        wordpiece: a fitted tokenizer whose vocabulary has [MASK]. Long texts are cut, even if it reads windows.
    """

    def __init__(self, wordpiece: WordPiece):
        super().__init__()
        self.fields = wordpiece.fields
        self.max_length = wordpiece.max_length
        self._plain = wordpiece
        self._masked = wordpiece.with_pieces(MaskedPieces(wordpiece.pieces))
        self._mask_id = wordpiece.pieces.vocabulary.id(MASK)

    @property
    def sizes(self) -> dict[str, int]:
        return self._plain.sizes

    @property
    def tokens(self) -> list[str]:
        """The tokens of the vocabulary, in the order of their ids."""
        return self._plain.tokens

    def save(self, folder: Path) -> None:
        """Write the files of the WordPiece."""
        self._plain.save(folder)

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Tokenize texts.

        Args:
            fields: as for WordPiece.

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


class MaskedPieces(tf.Module):
    """Word pieces of texts with [MASK] as a piece of its own.

    Args:
        pieces: the splitting of the texts between the masks.
    """

    def __init__(self, pieces: Pieces):
        super().__init__()
        self.pieces = pieces
        self.vocabulary = pieces.vocabulary

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the ids of the pieces of texts (B,), ragged (B, (T)) int32."""
        parts = tf.strings.split(texts, MASK)  # (B, (masks + 1))
        ids = self.pieces.ids(parts.values)
        # A mask follows each part except the last part of a text.
        lengths = parts.row_lengths()
        num_masks = tf.cast(tf.ragged.range(lengths).values < tf.repeat(lengths - 1, lengths), tf.int64)
        mask_id = tf.constant(self.vocabulary.id(MASK), ids.dtype)
        masks = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(num_masks)], mask_id), num_masks, validate=False
        )
        with_masks = tf.concat([ids, masks], axis=1)
        return tf.RaggedTensor.from_row_splits(
            with_masks.values, tf.gather(with_masks.row_splits, parts.row_splits), validate=False
        )
