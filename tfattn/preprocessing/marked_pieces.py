"""Pieces of texts in which some strings are tokens, such as [MASK]."""

from collections.abc import Mapping

import tensorflow as tf

from tfattn.preprocessing.code_points import valid_utf8
from tfattn.preprocessing.encoder_tokens import TextPieces
from tfattn.preprocessing.piece_words import PieceWords
from tfattn.preprocessing.text_tokens import TextTokens, joined_parts

_SPACE = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}]"  # RE2


class MarkedPieces(tf.Module):
    """The splitting of texts in which some strings are tokens of their own. Longer strings are found first.

    Args:
        pieces: the splitting of the text between the strings.
        marks: the id of each string.
        takes_space: whether the strings take the white space before them.

    Attributes:
        tokens, token_names, token_texts, continues, unknown_id, fingerprint: of the pieces.
    """

    def __init__(self, pieces: TextPieces, marks: Mapping[str, int], *, takes_space: bool = False):
        super().__init__()
        self._inner = pieces
        self.tokens, self.token_names, self.token_texts = pieces.tokens, pieces.token_names, pieces.token_texts
        self.continues = pieces.continues
        self.unknown_id, self.fingerprint = pieces.unknown_id, pieces.fingerprint
        self._takes_space = takes_space
        self._marks = TextTokens(marks)
        self._words = PieceWords()

    def ids(self, texts: tf.Tensor) -> tf.RaggedTensor:
        parts, marks, plain = self._split(texts)
        return joined_parts(parts, marks >= 0, marks, self._inner.ids(plain))

    def spans(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        parts, marks, plain = self._split(texts)
        lengths = tf.strings.length(parts.values, unit="UTF8_CHAR")
        ends = tf.cumsum(lengths)
        before = tf.gather(tf.pad(ends, [[1, 0]]), tf.cast(parts.row_starts(), tf.int32))
        offsets = ends - lengths - tf.repeat(before, parts.row_lengths())  # of each part in its text
        starts, limits = self._inner.spans(plain)
        is_empty = starts.values == limits.values
        is_space = tf.strings.regex_full_match(parts.values, f"{_SPACE}*")  # runs of blanks may be marks
        found = []
        for side, of_marks in ((starts, offsets), (limits, offsets + lengths)):
            moved = tf.where(is_empty, 0, side.values + tf.repeat(offsets, side.row_lengths()))
            found.append(joined_parts(parts, marks >= 0, tf.where(is_space, 0, of_marks), side.with_values(moved)))
        return tuple(found)

    def words(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        return self._words(texts, *self.spans(texts))

    def unknown(self, texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        _, marks, plain = self._split(texts)
        pieces, words = self._inner.unknown(plain)
        return pieces + tf.reduce_sum(tf.cast(marks >= 0, pieces.dtype)), words

    def _split(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor, tf.Tensor]:
        """Return the parts of texts, (B, (P)); the id of each part, -1 for text; the texts, "" for marks."""
        parts, marks = self._marks.find(valid_utf8(texts))
        is_mark = marks >= 0
        plain = tf.where(is_mark, "", parts.values)
        if self._takes_space:
            rows = parts.value_rowids()
            is_before = tf.pad(is_mark[1:] & (rows[1:] == rows[:-1]), [[0, 1]])[: tf.size(is_mark)]
            plain = tf.where(is_before, tf.strings.regex_replace(plain, f"{_SPACE}+$", ""), plain)
        return parts, marks, plain
