"""Pre-tokenization for byte-level BPE, in the graph: GPT-2's pattern without a regular expression.

GPT-2 splits texts by

    '(?:s|t|re|ve|m|ll|d)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

TensorFlow's regular expressions (RE2) have no `(?!`, and they follow another version of Unicode. Each character is
therefore looked up in a table, which the reference (the `tokenizers` package) fills, and the adjacent characters decide
where a piece starts:

    a letter, number or mark      after a character of another kind, except a blank, which is part of the piece
    white space                   after another kind; the last white space before another kind also starts a piece
    '                             as a mark; with the letters of a contraction it is a piece of its own
"""

import functools
from typing import Literal

import tensorflow as tf

from tfattn.preprocessing.character_kinds import EDGE, LETTER, MARK, NUMBER, SPACE, is_any, kind_pages, shifted
from tfattn.preprocessing.cl100k_pieces import cl100k_starts
from tfattn.preprocessing.code_points import CodePointTable

Pattern = Literal["gpt2", "digits", "llama3", "qwen2"]

_DIGITS = {"llama3": 3, "qwen2": 1}  # the digits of a piece, of patterns like cl100k
_BLANK, _APOSTROPHE = ord(" "), ord("'")
_SHORT, _LONG = ("s", "t", "m", "d"), ("re", "ve", "ll")  # contractions


class PreTokenizer(tf.Module):
    """Splitter of texts into the pieces within which bytes are merged.

    Args:
        pattern: `gpt2` splits as GPT-2 does; `digits` also splits numbers into digits, as SmolLM2 does, whose reference
            has U+11DE0-11DE9 among the digits; `llama3` and `qwen2`: see cl100k_pieces.

    Attributes:
        fingerprint: SHA-256 of the table of characters; installations with the same fingerprint split alike.

    Example:
        >>> PreTokenizer("gpt2")(tf.constant(["It's  5 o'clock!"])).to_list()
        [[b'It', b"'s", b' ', b' 5', b' o', b"'", b'clock', b'!']]
    """

    def __init__(self, pattern: Pattern):
        super().__init__()
        self.pattern = pattern
        pages, self.fingerprint = kind_pages()
        self._kinds = CodePointTable(pages)

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Split texts (B,), UTF-8, into pieces: strings, ragged (B, (P)). Invalid UTF-8 is read as U+FFFD."""
        characters = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
        is_start = self._starts(characters.values, _firsts(characters))
        starts = tf.where(is_start)[:, 0]
        pieces = tf.RaggedTensor.from_row_starts(characters.values, starts, validate=False)
        splits = tf.searchsorted(starts, characters.row_splits, out_type=tf.int64)
        return tf.RaggedTensor.from_row_splits(tf.strings.unicode_encode(pieces, "UTF-8"), splits, validate=False)

    def _starts(self, characters: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
        """Find the characters, (N,), that start a piece: (N,) bool."""
        kinds = self._kinds(characters)
        if self.pattern in _DIGITS:
            return cl100k_starts(characters, kinds, is_first, digits=_DIGITS[self.pattern])
        return self._gpt2_starts(characters, kinds, is_first)

    def _gpt2_starts(self, characters: tf.Tensor, kinds: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
        is_last = shifted(is_first, -1, True)
        before = tf.where(is_first, EDGE, shifted(kinds, 1, EDGE))
        after = tf.where(is_last, EDGE, shifted(kinds, -1, EDGE))
        is_after_blank = (shifted(characters, 1, 0) == _BLANK) & ~is_first
        is_new = kinds != before
        joins = (MARK, LETTER, NUMBER) if self.pattern == "gpt2" else (MARK, LETTER)
        starts_space = is_new | is_any(after, joins)
        is_start = tf.where(kinds == SPACE, starts_space, is_new & ~is_after_blank)
        if self.pattern == "digits":
            is_start |= kinds == NUMBER

        next_1, next_2 = (
            tf.where(is_last, 0, shifted(characters, -1, 0)),
            tf.where(is_last | shifted(is_last, -1, True), 0, shifted(characters, -2, 0)),
        )
        is_apostrophe = is_start & (characters == _APOSTROPHE)
        is_short = is_apostrophe & is_any(next_1, map(ord, _SHORT))
        is_long = is_apostrophe & functools.reduce(
            tf.logical_or, [(next_1 == ord(first)) & (next_2 == ord(second)) for first, second in _LONG]
        )
        is_start &= ~shifted(is_short | is_long, 1, False)
        return is_start | shifted(is_short, 2, False) | shifted(is_long, 3, False)


def _firsts(characters: tf.RaggedTensor) -> tf.Tensor:
    """Find the first character of each text: (N,) bool."""
    starts = characters.row_starts()[:, None]  # for an empty text at the end, it is after the last character
    counts = tf.zeros([tf.size(characters.values) + 1], tf.int32)
    return tf.tensor_scatter_nd_add(counts, starts, tf.ones_like(starts[:, 0], tf.int32))[:-1] > 0
