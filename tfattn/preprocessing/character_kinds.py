"""The kinds of characters that pre-tokenizers distinguish: letters, numbers, white space and all others, the marks."""

import functools
import hashlib
from collections.abc import Iterable

import numpy as np
import tensorflow as tf
from tokenizers import Regex
from tokenizers.normalizers import Replace, Sequence

from tfattn.preprocessing.code_points import CODE_POINTS, SURROGATES, UNASSIGNED, Pages, build_pages

MARK, LETTER, NUMBER, SPACE, EDGE = range(5)  # EDGE is before and after a text


@functools.cache
def kind_pages() -> tuple[Pages, str]:
    """Compute the kinds of all characters with the regular expressions of the reference.

    Returns:
        the table, and its SHA-256.
    """
    code_points = [number for number in range(CODE_POINTS) if number not in SURROGATES and number not in UNASSIGNED]
    kind_of = {"a": LETTER, "1": NUMBER, " ": SPACE}
    reference = Sequence(
        [Replace(Regex(pattern), new) for pattern, new in zip((r"\p{L}", r"\p{N}", r"\s"), kind_of, strict=True)]
    )
    kinds = [kind_of.get(new, MARK) for new in reference.normalize_str("".join(map(chr, code_points)))]
    table = np.full(CODE_POINTS, MARK, np.int32)
    table[code_points] = kinds
    return build_pages(table), hashlib.sha256(table.tobytes()).hexdigest()


def shifted(values: tf.Tensor, offset: int, filler: int | bool) -> tf.Tensor:
    """Shift values (N,) by an offset, to later indices if positive."""
    fill = tf.fill(tf.minimum([abs(offset)], tf.shape(values)), tf.constant(filler, values.dtype))
    return tf.concat([fill, values[:-offset]] if offset > 0 else [values[-offset:], fill], axis=0)


def is_any(values: tf.Tensor, options: Iterable[int]) -> tf.Tensor:
    """Find the values (N,) that equal any of the options: (N,) bool."""
    return functools.reduce(tf.logical_or, [values == option for option in options])
