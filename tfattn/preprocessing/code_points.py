"""A lookup table with an entry for each Unicode character, in the graph."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

CODE_POINTS = 0x110000
SURROGATES = range(0xD800, 0xE000)  # not characters: they cannot be encoded as UTF-8
UNASSIGNED = range(0x40000, 0xE0000)  # planes 4 to 13 hold no characters
_PAGE_BITS = 7
_PAGE = 1 << _PAGE_BITS


class Pages(NamedTuple):
    """A table cut into pages of consecutive code points; equal pages are stored once.

    Attributes:
        entries: the entries of the distinct pages, concatenated.
        starts: the index of the first entry of each page of code points.
    """

    entries: np.ndarray
    starts: np.ndarray


def build_pages(table: np.ndarray) -> Pages:
    """Cut a table, (code points,) or (code points, W), into pages."""
    numbers: dict[bytes, int] = {}  # of the distinct pages
    page_numbers = [numbers.setdefault(page.tobytes(), len(numbers)) for page in np.split(table, len(table) // _PAGE)]
    entries = np.frombuffer(b"".join(numbers), table.dtype).reshape(-1, *table.shape[1:])
    return Pages(entries, np.array(page_numbers, np.int32) * _PAGE)


class CodePointTable(tf.Module):
    """The entries of characters, looked up in the graph.

    Example:
        table = CodePointTable(pages_of(np.zeros(CODE_POINTS, np.int32)))
        table(tf.constant([97]))  # the entry of "a"
    """

    def __init__(self, pages: Pages):
        super().__init__()
        self._entries, self._starts = tf.constant(pages.entries), tf.constant(pages.starts)

    def __call__(self, code_points: tf.Tensor) -> tf.Tensor:
        """Look up code points (N,) int32: (N,), or (N, W) for a table with W columns."""
        start = tf.gather(self._starts, tf.bitwise.right_shift(code_points, _PAGE_BITS))
        return tf.gather(self._entries, start + tf.bitwise.bitwise_and(code_points, _PAGE - 1))
