"""Lookup tables with an entry for each Unicode character, and the check of the `tokenizers` version of saved tables."""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tokenizers
from typing_extensions import TypedDict

from tfattn.errors import DataError

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
        table = CodePointTable(build_pages(np.zeros(CODE_POINTS, np.int32)))
        table(tf.constant([97]))  # the entry of "a"
    """

    def __init__(self, pages: Pages):
        super().__init__()
        self._entries, self._starts = tf.constant(pages.entries), tf.constant(pages.starts)

    def __call__(self, code_points: tf.Tensor) -> tf.Tensor:
        """Look up code points (N,) int32: (N,), or (N, W) for a table with W columns."""
        start = tf.gather(self._starts, tf.bitwise.right_shift(code_points, _PAGE_BITS))
        return tf.gather(self._entries, start + tf.bitwise.bitwise_and(code_points, _PAGE - 1))


def valid_utf8(texts: Any, *, max_bytes: int | None = None) -> tf.Tensor:
    """Replace the bytes of texts (B,) that are not UTF-8 by U+FFFD; cut the texts first if max_bytes is given."""
    if max_bytes is not None:
        texts = tf.strings.substr(tf.convert_to_tensor(texts, tf.string), 0, max_bytes)
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace", replacement_char=0xFFFD)


class Reference(TypedDict):
    """The saved version of `tokenizers`, and a digest of its treatment of all characters."""

    tokenizers_version: str
    characters_sha256: str


def describe_reference(fingerprint: str) -> Reference:
    """Describe the installed version, which computed a table with this SHA-256."""
    return {"tokenizers_version": tokenizers.__version__, "characters_sha256": fingerprint}


def check_reference(saved: Reference, fingerprint: str, *, where: str) -> None:
    """Refuse settings from a version that treats characters differently.

    Args:
        saved: the saved settings.
        fingerprint: SHA-256 of the same table from the installed version.
        where: the file of the settings, for the message.

    Raises:
        DataError: names both versions.
    """
    if saved["characters_sha256"] != fingerprint:
        version = saved["tokenizers_version"]
        raise DataError(
            "the tokenizer was made with another `tokenizers` package, which treats some characters differently",
            where=where,
            expected=f"tokenizers {version}",
            received=tokenizers.__version__,
            remedy=f"Run `pip install tokenizers=={version}`, or prepare the data and train again.",
        )
