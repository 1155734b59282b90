"""The normalization of the reference BERT tokenizer as a table in the graph, with an entry for each Unicode character.

The reference (`BertNormalizer` and `BertPreTokenizer` of the `tokenizers` package) drops control characters, turns
white space into blanks, splits off Chinese characters and punctuation, and may fold case and strip accents. Each
rule applies to single characters, by several Unicode versions. The table is therefore computed by running the
reference on each character, and TensorFlow looks entries up.

Google's tokenization.py uses the Unicode tables of Python instead. `tokenizers` differs in rare characters: it drops
private-use characters (U+E000-F8FF and planes 15 and 16); its Unicode version is older, so that some 100 punctuation
marks (such as U+061D, U+0C77 and U+2E55-2E5D) do not separate words, some 380 combining marks (such as U+07FD and
U+0898-089F) are kept with strip_accents, and 13 format characters are kept.

tensorflow-text's own `FastBertTokenizer` and `BertTokenizer` treat all private-use characters and 8,800 others
differently (630 without lower_case):
    lower_case folds compatibility forms too (NFKC): "，" becomes ",", "ﬁ" becomes "fi", "ß" becomes "ss";
    control and format characters split words instead of being dropped, U+FFFD and private use are kept;
    their Unicode version is newer: more characters are punctuation, or marks to strip;
    U+2B820-2B91F are words of their own; the Chinese range of the reference starts later by mistake;
    words are unknown beyond 100 bytes, not 100 characters.
"""

import functools
import hashlib
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tfattn.preprocessing.code_points import CODE_POINTS, SURROGATES, UNASSIGNED, CodePointTable, Pages, build_pages

# The kinds of characters.
LETTER = 0  # part of a word
ALONE = 1  # a word of its own: punctuation, a Chinese character
SPACE = 2  # ends a word
DROPPED = 3  # removed: "a", dropped, "b" is the word "ab"


def normalizer(*, lower_case: bool, strip_accents: bool) -> BertNormalizer:
    """Make the reference's normalizer, which drops, replaces, splits off and folds characters."""
    return BertNormalizer(clean_text=True, handle_chinese_chars=True, lowercase=lower_case, strip_accents=strip_accents)


class Characters(tf.Module):
    """The table of normalized characters, looked up in the graph.

    One entry holds the kind in its low two bits and the distance to the new code point above them, so that
    all unchanged letters have the entry 0 and share a page of the table.

    Args:
        lower_case: whether to fold case, as the reference does (one character at a time: no final sigma).
        strip_accents: whether to decompose (NFD) and drop the nonspacing marks (Mn).

    Attributes:
        fingerprint: SHA-256 of the table; installations with the same fingerprint treat all characters alike.
    """

    def __init__(self, *, lower_case: bool, strip_accents: bool):
        super().__init__()
        table = _read_table(lower_case, strip_accents)
        self._table = CodePointTable(table.pages)
        self._runs, self.fingerprint = table.runs, table.fingerprint

    @property
    def runs(self) -> np.ndarray:
        """The table as runs of equal entries, for readers without TensorFlow: (R, 1 + W) int32.

        The first column is the first code point of a run, in ascending order; the others are its entries.
        """
        return self._runs

    def __call__(self, code_points: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Look up code points (N,) int32.

        Returns:
            kinds (N, W) int32 and new code points (N, W) int32, where W is the length of the longest
            replacement; unused entries are of the kind DROPPED.
        """
        entries = self._table(code_points)
        kinds = tf.bitwise.bitwise_and(entries, 3)
        return kinds, code_points[:, None] + tf.bitwise.right_shift(entries, 2)


class _Table(NamedTuple):
    """The table in the forms in which it is read."""

    pages: Pages
    runs: np.ndarray
    fingerprint: str


@functools.cache
def _read_table(lower_case: bool, strip_accents: bool) -> _Table:
    table = _normalized(lower_case, strip_accents)
    is_first = np.append(True, (table[1:] != table[:-1]).any(axis=1))
    runs = np.concatenate([np.flatnonzero(is_first)[:, None], table[is_first]], axis=1).astype(np.int32)
    return _Table(build_pages(table), runs, hashlib.sha256(table.tobytes()).hexdigest())


@functools.cache
def _known() -> tuple[list[str], frozenset[str]]:
    """List all characters except "|", and the punctuation among all characters."""
    code_points = [c for c in range(CODE_POINTS) if c not in SURROGATES and c not in UNASSIGNED and chr(c) != "|"]
    characters = list(map(chr, code_points))
    # Between two "a"s, only punctuation is a separate piece.
    pieces = BertPreTokenizer().pre_tokenize_str("a".join(["", *characters, "|", ""]))
    return characters, frozenset(piece for piece, _ in pieces if len(piece) == 1 and piece != "a")


def _normalized(lower_case: bool, strip_accents: bool) -> np.ndarray:
    """Compute the whole table by running the reference on each character: (code points, W) int32."""
    characters, punctuation = _known()
    # All in one call: "|" stays as it is, and nothing is composed or reordered across it.
    reference = normalizer(lower_case=lower_case, strip_accents=strip_accents)
    normalized = reference.normalize_str("|".join(characters)).split("|")
    changed = [(old, text) for old, text in zip(characters, normalized, strict=True) if text != old]
    chinese = [ord(old) for old, text in changed if text == f" {old} "]
    changed = [(ord(old), text) for old, text in changed if text != f" {old} "]

    width = max(1, *(len(text.replace(" ", "")) for _, text in changed))
    table = np.full((CODE_POINTS, width), DROPPED, np.int32)
    table[:, 0] = LETTER
    table[SURROGATES.start : SURROGATES.stop, 0] = DROPPED
    table[[*map(ord, punctuation), *chinese], 0] = ALONE
    table[[old for old, _ in changed]] = DROPPED
    table[[ord(" "), *(old for old, text in changed if text == " ")], 0] = SPACE
    for old, text in changed:
        new = text.strip(" ")
        is_chinese = new != text
        for index, character in enumerate(new):
            kind = ALONE if is_chinese or character in punctuation else LETTER
            table[old, index] = (ord(character) - old) * 4 + kind
    several = table[table[:, -1] != DROPPED] if width > 1 else table[:0]
    assert not np.isin(several & 3, [SPACE, ALONE]).any(), "one character became several words"
    return table
