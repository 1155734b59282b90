"""Pre-tokenization of tiktoken's cl100k and of its relatives, Llama 3 and Qwen 2, without a regular expression.

The pattern is, with \\p{N}{1,3} for Llama 3 and \\p{N} for Qwen 2:

    (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|
    \\s*[\\r\\n]+|\\s+(?!\\S)|\\s+

In runs of characters of one kind, pieces start at

    letters       the first, unless one mark, or white space other than a line end, is before it and part of the piece;
                  and the first letter after a contraction
    numbers       every third, or each one
    marks         the first, unless a blank is before it and part of the piece, as are line ends after the marks
    white space   the first that no marks have taken, the first after the last line end, and the last one of a run
                  that another kind follows
"""

from collections.abc import Iterable

import tensorflow as tf

from tfattn.preprocessing.character_kinds import EDGE, LETTER, MARK, NUMBER, SPACE, is_any, shifted

_BLANK, _APOSTROPHE, _LINE_ENDS = ord(" "), ord("'"), (ord("\r"), ord("\n"))
_SHORT, _LONG = ("s", "t", "m", "d"), ("re", "ve", "ll")  # contractions
_CAPITALS = ord("A"), ord("Z")
_LONG_S = 0x17F  # its capital is S


def cl100k_starts(characters: tf.Tensor, kinds: tf.Tensor, is_first: tf.Tensor, *, digits: int) -> tf.Tensor:
    """Find the characters that start a piece.

    Args:
        characters: (N,) int32, the code points of all texts.
        kinds: (N,) int32, their kinds.
        is_first: (N,) bool, True at the first character of each text.
        digits: the number of digits of a piece.

    Returns:
        (N,) bool.
    """
    is_last = shifted(is_first, -1, True)
    before = tf.where(is_first, EDGE, shifted(kinds, 1, EDGE))
    after = tf.where(is_last, EDGE, shifted(kinds, -1, EDGE))
    is_after_blank = (shifted(characters, 1, 0) == _BLANK) & ~is_first
    is_line_end = is_any(characters, _LINE_ENDS)
    opens_run = kinds != before
    runs = tf.cumsum(tf.cast(opens_run, tf.int32)) - 1
    indices = tf.range(tf.size(characters))

    def of_run(values: tf.Tensor) -> tf.Tensor:
        """Repeat the values of runs (R,) for their characters: (N,)."""
        return tf.gather(values, runs)

    first = of_run(tf.boolean_mask(indices, opens_run))
    joins_letters = (kinds == MARK) & opens_run & ~is_after_blank & (after == LETTER)
    follows_space = (before == SPACE) & ~shifted(is_line_end, 1, False)
    starts = [
        (kinds == LETTER) & opens_run & ~follows_space & ~shifted(joins_letters, 1, False),
        (kinds == NUMBER) & ((indices - first) % digits == 0),
        (kinds == MARK) & opens_run & ~is_after_blank,
    ]
    for length, is_contraction in _contractions(characters, joins_letters & (characters == _APOSTROPHE), is_last):
        starts.append(shifted(is_contraction, length, False))

    last_line_end = of_run(tf.math.segment_max(tf.where(is_line_end, indices, -1), runs))
    first_other = of_run(tf.math.segment_min(tf.where(is_line_end, tf.size(characters), indices), runs))
    follows_mark = of_run(tf.boolean_mask(before == MARK, opens_run))
    first_free = tf.where(follows_mark, first_other, first)
    is_space = (kinds == SPACE) & (indices >= first_free)
    starts += [
        is_space & (indices == first_free),
        is_space & (indices == last_line_end + 1) & (last_line_end >= first_free),
        is_space & (after != SPACE) & (after != EDGE) & (indices > last_line_end),
    ]
    return tf.reduce_any(starts, axis=0)


def _contractions(
    characters: tf.Tensor, is_apostrophe: tf.Tensor, is_last: tf.Tensor
) -> Iterable[tuple[int, tf.Tensor]]:
    """Yield the lengths of contractions, and the apostrophes, (N,) bool, that start one of this length."""
    first, last = _CAPITALS
    lower = tf.where((characters >= first) & (characters <= last), characters + ord("a") - first, characters)
    lower = tf.where(lower == _LONG_S, ord("s"), lower)
    next_1 = tf.where(is_last, 0, shifted(lower, -1, 0))
    next_2 = tf.where(is_last | shifted(is_last, -1, True), 0, shifted(lower, -2, 0))
    yield 2, is_apostrophe & is_any(next_1, map(ord, _SHORT))
    long = [(next_1 == ord(one)) & (next_2 == ord(other)) for one, other in _LONG]
    yield 3, is_apostrophe & tf.reduce_any(long, axis=0)
