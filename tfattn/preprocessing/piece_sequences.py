"""Sequences of the pieces of sources and targets: start and end tokens, and truncation."""

from typing import NamedTuple

import tensorflow as tf

from tfattn.preprocessing.published_pieces import PublishedPieces
from tfattn.preprocessing.sentencepiece_model import MAX_TEXT_BYTES, SentencePieceModel

Pieces = SentencePieceModel | PublishedPieces


class Side(NamedTuple):
    """The tokenization of sources or targets: start and end tokens, and truncation.

    Attributes:
        feature: the name of the feature.
        model: splits texts into pieces.
        has_start: whether sequences start with the start token; all end with the end token.
        max_length: the maximum length of a sequence, start and end included.
    """

    feature: str
    model: Pieces
    has_start: bool
    max_length: int

    def sequences(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Tokenize texts (B,) to ids, ragged (B, (T)) int32; pieces beyond max_length are cut."""
        pieces = self.model.split(texts)
        column = [pieces.nrows(), 1]
        starts = [tf.fill(column, self.model.start_id)] if self.has_start else []
        return tf.concat([*starts, pieces[:, : self._room], tf.fill(column, self.model.end_id)], axis=1)

    def measure(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the number of pieces of texts (B,), (B,) int64, and which texts are too long, (B,) bool."""
        lengths = self.model.split(texts).row_lengths()
        return lengths, (lengths > self._room) | (tf.strings.length(texts) > MAX_TEXT_BYTES)

    @property
    def _room(self) -> int:
        return self.max_length - 1 - self.has_start
