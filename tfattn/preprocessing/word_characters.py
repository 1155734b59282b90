"""Character rules of word segmentation, shared by Python strings and the graph."""

import functools
import string
import unicodedata
from typing import NamedTuple

import numpy as np

from tfattn.preprocessing.code_points import CODE_POINTS, SURROGATES, UNASSIGNED, Pages, build_pages

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
