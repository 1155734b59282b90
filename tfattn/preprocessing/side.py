"""The sequences of one side of a translation: pieces between start and end tokens, cut to length."""

from typing import NamedTuple

import tensorflow as tf

from tfattn.preprocessing.sentencepiece_model import LONGEST_TEXT, SentencePieceModel


class Side(NamedTuple):
    """The sources of a batch, or its targets.

    Attributes:
        feature: the name of its sequences.
        model: splits its texts into pieces.
        has_start: whether its sequences begin with the start token; all end with the end token.
        max_length: the most tokens of a sequence, start and end included.
    """

    feature: str
    model: SentencePieceModel
    has_start: bool
    max_length: int

    def sequences(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Tokenize texts (B,) to ids, ragged (B, (T)) int32; pieces beyond max_length are cut."""
        pieces = self.model.split(texts)
        one_each = [pieces.nrows(), 1]
        starts = [tf.fill(one_each, self.model.start_id)] if self.has_start else []
        return tf.concat([*starts, pieces[:, : self._room], tf.fill(one_each, self.model.end_id)], axis=1)

    def measured(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Count the pieces of texts (B,), (B,) int64, and tell which texts are too long, (B,) bool."""
        lengths = self.model.split(texts).row_lengths()
        return lengths, (lengths > self._room) | (tf.strings.length(texts) > LONGEST_TEXT)

    @property
    def _room(self) -> int:
        return self.max_length - 1 - self.has_start
