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
import hashlib
from typing import Literal

import numpy as np
import tensorflow as tf
from tokenizers import Regex
from tokenizers.normalizers import Replace, Sequence

from tfattn.preprocessing.code_points import CODE_POINTS, SURROGATES, UNASSIGNED, CodePointTable, Pages, build_pages

Pattern = Literal["gpt2", "digits"]

MARK, LETTER, NUMBER, SPACE, EDGE = range(5)  # kinds of characters; EDGE is before and after a text
_BLANK, _APOSTROPHE = ord(" "), ord("'")
_SHORT, _LONG = ("s", "t", "m", "d"), ("re", "ve", "ll")  # contractions


class PreTokenizer(tf.Module):
    """Splitter of texts into the pieces within which bytes are merged.

    Args:
        pattern: `gpt2` splits as GPT-2 does; `digits` also splits numbers into digits, as SmolLM2 does, whose reference
            has U+11DE0-11DE9 among the digits.

    Attributes:
        fingerprint: SHA-256 of the table of characters; installations with the same fingerprint split alike.

    Example:
        >>> PreTokenizer("gpt2")(tf.constant(["It's  5 o'clock!"])).to_list()
        [[b'It', b"'s", b' ', b' 5', b' o', b"'", b'clock', b'!']]
    """

    def __init__(self, pattern: Pattern):
        super().__init__()
        self.pattern = pattern
        pages, self.fingerprint = _pages()
        self._kinds = CodePointTable(pages)

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Split texts (B,), UTF-8, into pieces: strings, ragged (B, (P)). Invalid UTF-8 is read as U+FFFD."""
        characters = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
        is_start = self._find_starts(characters.values, _firsts(characters))
        starts = tf.where(is_start)[:, 0]
        pieces = tf.RaggedTensor.from_row_starts(characters.values, starts, validate=False)
        splits = tf.searchsorted(starts, characters.row_splits, out_type=tf.int64)
        return tf.RaggedTensor.from_row_splits(tf.strings.unicode_encode(pieces, "UTF-8"), splits, validate=False)

    def _find_starts(self, characters: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
        """Find the characters, (N,), that start a piece: (N,) bool."""
        kinds = self._kinds(characters)
        is_last = _shifted(is_first, -1, True)
        before = tf.where(is_first, EDGE, _shifted(kinds, 1, EDGE))
        after = tf.where(is_last, EDGE, _shifted(kinds, -1, EDGE))
        is_after_blank = (_shifted(characters, 1, 0) == _BLANK) & ~is_first
        is_new = kinds != before
        joins = (MARK, LETTER, NUMBER) if self.pattern == "gpt2" else (MARK, LETTER)
        starts_space = is_new | _is_any(after, joins)
        is_start = tf.where(kinds == SPACE, starts_space, is_new & ~is_after_blank)
        if self.pattern == "digits":
            is_start |= kinds == NUMBER

        next_1, next_2 = (
            tf.where(is_last, 0, _shifted(characters, -1, 0)),
            tf.where(is_last | _shifted(is_last, -1, True), 0, _shifted(characters, -2, 0)),
        )
        is_apostrophe = is_start & (characters == _APOSTROPHE)
        is_short = is_apostrophe & _is_any(next_1, map(ord, _SHORT))
        is_long = is_apostrophe & functools.reduce(
            tf.logical_or, [(next_1 == ord(first)) & (next_2 == ord(second)) for first, second in _LONG]
        )
        is_start &= ~_shifted(is_short | is_long, 1, False)
        return is_start | _shifted(is_short, 2, False) | _shifted(is_long, 3, False)


def _firsts(characters: tf.RaggedTensor) -> tf.Tensor:
    """Find the first character of each text: (N,) bool."""
    starts = characters.row_starts()[:, None]  # for an empty text at the end, it is after the last character
    counts = tf.zeros([tf.size(characters.values) + 1], tf.int32)
    return tf.tensor_scatter_nd_add(counts, starts, tf.ones_like(starts[:, 0], tf.int32))[:-1] > 0


def _shifted(values: tf.Tensor, offset: int, filler: int | bool) -> tf.Tensor:
    """Shift values (N,) by an offset, to later indices if positive."""
    fill = tf.fill(tf.minimum([abs(offset)], tf.shape(values)), tf.constant(filler, values.dtype))
    return tf.concat([fill, values[:-offset]] if offset > 0 else [values[-offset:], fill], axis=0)


def _is_any(values: tf.Tensor, options) -> tf.Tensor:
    return functools.reduce(tf.logical_or, [values == option for option in options])


@functools.cache
def _pages() -> tuple[Pages, str]:
    """Compute the kinds of all characters with the regular expressions of the reference."""
    code_points = [number for number in range(CODE_POINTS) if number not in SURROGATES and number not in UNASSIGNED]
    kind_of = {"a": LETTER, "1": NUMBER, " ": SPACE}
    reference = Sequence(
        [Replace(Regex(pattern), new) for pattern, new in zip((r"\p{L}", r"\p{N}", r"\s"), kind_of, strict=True)]
    )
    kinds = [kind_of.get(new, MARK) for new in reference.normalize_str("".join(map(chr, code_points)))]
    table = np.full(CODE_POINTS, MARK, np.int32)
    table[code_points] = kinds
    return build_pages(table), hashlib.sha256(table.tobytes()).hexdigest()
