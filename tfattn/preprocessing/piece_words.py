"""The words of texts, by the piece in which each starts."""

from typing import NamedTuple

import tensorflow as tf

from tfattn.preprocessing.characters import Characters
from tfattn.preprocessing.words import split, word_spans


class PieceWords(tf.Module):
    """The first pieces of words, for tokenizers whose pieces are not parts of words.

    Words are those of BERT, split at white space and punctuation, so that tags and entities do not depend on the
    tokenizer. A word starts at the piece that contains its first character. If several words start in a piece, such as
    the characters of "...", the first counts.
    """

    def __init__(self):
        super().__init__()
        self._characters = Characters(lower_case=False, strip_accents=False)

    def __call__(
        self, texts: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Locate words.

        Args:
            texts: (B,) UTF-8.
            starts, ends: the start and the end of each piece in its text, ragged (B, (T)) int32; equal for a piece of
                white space.

        Returns:
            number, start and end of the word that starts in each piece, ragged (B, (T)) int32; 0 if there is none.
        """
        words = split(texts, self._characters)
        numbers, word_starts, word_ends = word_spans(words)
        rows = tf.repeat(tf.range(tf.size(texts, tf.int64)), words.row_splits[1:] - words.row_splits[:-1])
        pieces = _Pieces.of(starts, ends, words.text_starts)
        begins = tf.cast(word_starts, tf.int64) + tf.gather(words.text_starts, rows)
        found = tf.searchsorted(pieces.starts, begins, out_type=tf.int64)
        # The piece that starts with the word, or else the piece before it.
        starts_here = tf.gather(tf.pad(pieces.starts, [[0, 1]], constant_values=-1), found) == begins
        found = tf.where(starts_here, found, found - 1)
        is_inside = (found >= 0) & (tf.gather(tf.pad(pieces.ends, [[1, 0]]), found + 1) > begins)
        words_of_pieces = tf.math.unsorted_segment_min(
            tf.boolean_mask(tf.range(tf.size(numbers)), is_inside),
            tf.gather(tf.pad(pieces.indices, [[0, 1]]), tf.boolean_mask(found, is_inside)),
            tf.size(starts.values, tf.int64),
        )
        has_word = words_of_pieces < tf.size(numbers)
        chosen = tf.where(has_word, words_of_pieces, tf.size(numbers))
        return tuple(
            starts.with_values(tf.gather(tf.pad(values, [[0, 1]]), chosen))
            for values in (numbers, word_starts, word_ends)
        )


class _Pieces(NamedTuple):
    """The pieces with text: start and end, counted over all texts, and the index among all pieces."""

    starts: tf.Tensor
    ends: tf.Tensor
    indices: tf.Tensor

    @staticmethod
    def of(starts: tf.RaggedTensor, ends: tf.RaggedTensor, text_starts: tf.Tensor) -> "_Pieces":
        indices = tf.where(starts.values < ends.values)[:, 0]
        offsets = tf.gather(tf.repeat(text_starts, starts.row_lengths()), indices)
        sides = (tf.cast(tf.gather(side.values, indices), tf.int64) + offsets for side in (starts, ends))
        return _Pieces(*sides, indices)
