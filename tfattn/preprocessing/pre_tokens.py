"""The pieces of texts within which byte pairs are merged, in the graph: GPT-2's regular expression without one.

GPT-2 cuts texts by

    '(?:s|t|re|ve|m|ll|d)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+

TensorFlow's regular expressions (RE2) have no `(?!`, and they know white space and letters of other versions of
Unicode. So each character is looked up in a table, which the reference (the `tokenizers` package) has filled, and where
a piece begins follows from the characters beside it:

    a letter, number or mark      where the one before is of another kind, and no blank, which belongs to it
    white space                   where the one before is none; and the last before anything else
    '                             as a mark; with the letters of a contraction it is a piece, behind which one begins
"""

import functools
import hashlib
from typing import Literal

import numpy as np
import tensorflow as tf
from tokenizers import Regex
from tokenizers.normalizers import Replace, Sequence

from tfattn.preprocessing.code_points import CODE_POINTS, SURROGATES, UNASSIGNED, CodePointTable, Pages, pages_of

Pattern = Literal["gpt2", "digits"]

MARK, LETTER, NUMBER, SPACE, EDGE = range(5)  # the kinds of characters; EDGE is before and behind a text
_BLANK, _APOSTROPHE = ord(" "), ord("'")
_SHORT, _LONG = ("s", "t", "m", "d"), ("re", "ve", "ll")  # contractions


class PreTokens(tf.Module):
    """Cuts texts into pieces within which bytes are merged.

    Args:
        pattern: `gpt2` cuts as GPT-2 does; `digits` takes every digit alone first, as SmolLM2 does, whose reference
            counts U+11DE0-11DE9 as digits, too.

    Attributes:
        fingerprint: SHA-256 of the table of characters; two installations with equal ones cut alike.

    Example:
        >>> PreTokens("gpt2")(tf.constant(["It's  5 o'clock!"])).to_list()
        [[b'It', b"'s", b' ', b' 5', b' o', b"'", b'clock', b'!']]
    """

    def __init__(self, pattern: Pattern):
        super().__init__()
        self.pattern = pattern
        pages, self.fingerprint = _pages()
        self._kinds = CodePointTable(pages)

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Cut texts (B,), UTF-8, into pieces: strings, ragged (B, (P)). What is not UTF-8 counts as U+FFFD."""
        characters = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
        begins = self._begins(characters.values, _firsts(characters))
        places = tf.where(begins)[:, 0]
        pieces = tf.RaggedTensor.from_row_starts(characters.values, places, validate=False)
        splits = tf.searchsorted(places, characters.row_splits, out_type=tf.int64)
        return tf.RaggedTensor.from_row_splits(tf.strings.unicode_encode(pieces, "UTF-8"), splits, validate=False)

    def _begins(self, characters: tf.Tensor, is_first: tf.Tensor) -> tf.Tensor:
        """Tell the characters, (N,), with which a piece begins."""
        kinds = self._kinds(characters)
        is_last = _shifted(is_first, -1, True)
        before = tf.where(is_first, EDGE, _shifted(kinds, 1, EDGE))
        behind = tf.where(is_last, EDGE, _shifted(kinds, -1, EDGE))
        is_behind_blank = (_shifted(characters, 1, 0) == _BLANK) & ~is_first
        is_new = kinds != before
        joins = (MARK, LETTER, NUMBER) if self.pattern == "gpt2" else (MARK, LETTER)
        of_space = is_new | _is_any(behind, joins)
        begins = tf.where(kinds == SPACE, of_space, is_new & ~is_behind_blank)
        if self.pattern == "digits":
            begins |= kinds == NUMBER

        one, two = (
            tf.where(is_last, 0, _shifted(characters, -1, 0)),
            tf.where(is_last | _shifted(is_last, -1, True), 0, _shifted(characters, -2, 0)),
        )
        is_apostrophe = begins & (characters == _APOSTROPHE)
        is_short = is_apostrophe & _is_any(one, map(ord, _SHORT))
        is_long = is_apostrophe & functools.reduce(
            tf.logical_or, [(one == ord(first)) & (two == ord(second)) for first, second in _LONG]
        )
        begins &= ~_shifted(is_short | is_long, 1, False)
        return begins | _shifted(is_short, 2, False) | _shifted(is_long, 3, False)


def _firsts(characters: tf.RaggedTensor) -> tf.Tensor:
    """Tell the first character of each text: (N,) bool."""
    starts = characters.row_starts()[:, None]  # of an empty text at the end it is behind the last character
    counts = tf.zeros([tf.size(characters.values) + 1], tf.int32)
    return tf.tensor_scatter_nd_add(counts, starts, tf.ones_like(starts[:, 0], tf.int32))[:-1] > 0


def _shifted(values: tf.Tensor, places: int, filler: int | bool) -> tf.Tensor:
    """Move values (N,) to later places, or earlier ones where negative."""
    fill = tf.fill(tf.minimum([abs(places)], tf.shape(values)), tf.constant(filler, values.dtype))
    return tf.concat([fill, values[:-places]] if places > 0 else [values[-places:], fill], axis=0)


def _is_any(values: tf.Tensor, ones) -> tf.Tensor:
    return functools.reduce(tf.logical_or, [values == one for one in ones])


@functools.cache
def _pages() -> tuple[Pages, str]:
    """Compute the kinds of all characters by the reference's regular expressions."""
    code_points = [number for number in range(CODE_POINTS) if number not in SURROGATES and number not in UNASSIGNED]
    stand_for = {"a": LETTER, "1": NUMBER, " ": SPACE}
    reference = Sequence(
        [Replace(Regex(kind), one) for kind, one in zip((r"\p{L}", r"\p{N}", r"\s"), stand_for, strict=True)]
    )
    kinds = [stand_for.get(one, MARK) for one in reference.normalize_str("".join(map(chr, code_points)))]
    table = np.full(CODE_POINTS, MARK, np.int32)
    table[code_points] = kinds
    return pages_of(table), hashlib.sha256(table.tobytes()).hexdigest()
