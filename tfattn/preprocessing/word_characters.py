"""Character rules of words: for Python strings, and for the lookup of word ids in the graph."""

import functools
import string
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.preprocessing.code_points import CODE_POINTS, SURROGATES, UNASSIGNED, CodePointTable, Pages, build_pages

BLANK = " "
# Table entries that are no distances: the character ends a word; padding after the replacement.
WORD_BREAK, PADDING = 1 << 30, 1 << 29
_WIDTH = 2  # the longest replacement, in characters: lower case of U+0130 is an i and a dot
_SURROGATE = "Cs"  # cannot be encoded as UTF-8


class Rules(NamedTuple):
    """The rules that define the characters of words.

    Attributes:
        only_letters: whether only letters and marks are word characters; else all characters but blanks.
        lower_case: whether case is folded, one character at a time: there is no final sigma.
        ascii: whether a to z, and A to Z, are the only letters.
    """

    only_letters: bool
    lower_case: bool
    ascii: bool


class WordCharacters(dict[int, str]):
    """The replacement of each character, for `str.translate`; computed when the character first occurs.

    Characters outside of words are replaced by a blank.

    Example:
        >>> "It's Ōsaka".translate(WordCharacters(Rules(only_letters=True, lower_case=True, ascii=False))).split()
        ['it', 's', 'ōsaka']
    """

    def __init__(self, rules: Rules):
        super().__init__()
        self._rules = rules

    def __missing__(self, code_point: int) -> str:
        character = chr(code_point)
        is_kept = self._is_letter(character) if self._rules.only_letters else self._is_not_blank(character)
        replacement = (character.lower() if self._rules.lower_case else character) if is_kept else BLANK
        self[code_point] = replacement
        return replacement

    def _is_letter(self, character: str) -> bool:
        if self._rules.ascii:
            return character in string.ascii_letters
        return unicodedata.category(character)[0] in "LM"

    def _is_not_blank(self, character: str) -> bool:
        return not character.isspace() and unicodedata.category(character) != _SURROGATE


@functools.cache
def pages(rules: Rules) -> Pages:
    """Compute the replacements of all characters, as a table (code points, 2) for the graph.

    Entries are distances to the replacement, so that unchanged characters have equal entries and share pages.
    """
    characters = WordCharacters(rules)
    table = np.full((CODE_POINTS, _WIDTH), PADDING, np.int32)
    table[:, 0] = WORD_BREAK
    for code_point in range(CODE_POINTS):
        if code_point not in SURROGATES and code_point not in UNASSIGNED:
            replacement = characters[code_point]
            if replacement != BLANK:
                table[code_point, : len(replacement)] = [ord(new) - code_point for new in replacement]
    return build_pages(table)


UNKNOWN_ID = -1
PHRASE_SEPARATOR = "_"  # between the words of a phrase, as in new_york


class WordLookup(tf.Module):
    """Lookup table of words after normalization: `New York`, `NEW YORK.` and `new_york` are all `new_york`.

    Args:
        words: the words in the order of their ids.
        rules: the character rules of the segmentation.

    Example:
        lookup = WordLookup(["new_york", "is"], Rules(only_letters=True, lower_case=True, ascii=False))
        lookup(tf.constant(["New York", "was"]))  # [0, -1]
    """

    def __init__(self, words: Sequence[str], rules: Rules):
        super().__init__()
        self._characters = CodePointTable(pages(rules))
        ids = tf.range(len(words), dtype=tf.int32)
        self._ids = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(words, tf.string), ids), UNKNOWN_ID
        )

    def __call__(self, words: tf.Tensor) -> tf.Tensor:
        """Look up words (B,), UTF-8: (B,) int32, -1 for unknown words."""
        return self._ids.lookup(self.normalize(words))

    def normalize(self, words: tf.Tensor) -> tf.Tensor:
        """Normalize words (B,) to the form of the vocabulary, known or unknown."""
        characters = tf.strings.unicode_decode(words, "UTF-8", errors="replace", replacement_char=0xFFFD)
        entries = self._characters(characters.values)  # (N, 2)
        replacements = tf.where(entries == WORD_BREAK, ord(BLANK), characters.values[:, None] + entries)
        normalized = characters.with_values(tf.RaggedTensor.from_tensor(replacements)).merge_dims(1, 2)
        is_kept = tf.reshape(entries != PADDING, [-1])
        normalized = tf.strings.unicode_encode(
            tf.ragged.boolean_mask(normalized, normalized.with_values(is_kept)), "UTF-8"
        )
        return tf.strings.reduce_join(tf.strings.split(normalized), axis=-1, separator=PHRASE_SEPARATOR)
