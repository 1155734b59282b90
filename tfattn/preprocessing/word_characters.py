"""Which characters words are made of, and what each becomes: the same for Python's strings and for the graph."""

import functools
import string
import unicodedata
from typing import NamedTuple

import numpy as np

from tfattn.preprocessing.code_points import CODE_POINTS, SURROGATES, UNASSIGNED, Pages, pages_of

BLANK = " "
# In a table: the character ends a word, and, behind what it becomes, that this is all. No distance is so long.
ENDS, NOTHING = 1 << 30, 1 << 29
_WIDTH = 2  # characters that one becomes at most: lower case of U+0130 is an i and a dot
_SURROGATE = "Cs"  # which cannot be written as UTF-8


class Rules(NamedTuple):
    """What tells the characters of words.

    Attributes:
        only_letters: whether letters and marks alone make words; else all that is not blank.
        lower_case: whether case is folded, one character at a time: there is no final sigma.
        ascii: whether a to z, and A to Z, are the only letters.
    """

    only_letters: bool
    lower_case: bool
    ascii: bool


class WordCharacters(dict[int, str]):
    """What each character becomes, as `str.translate` asks for it; worked out when it first occurs.

    What is no part of a word becomes a blank.

    Example:
        >>> "It's Ōsaka".translate(WordCharacters(Rules(only_letters=True, lower_case=True, ascii=False))).split()
        ['it', 's', 'ōsaka']
    """

    def __init__(self, rules: Rules):
        super().__init__()
        self._rules = rules

    def __missing__(self, code_point: int) -> str:
        character = chr(code_point)
        is_kept = self._is_letter(character) if self._rules.only_letters else self._is_written(character)
        becomes = (character.lower() if self._rules.lower_case else character) if is_kept else BLANK
        self[code_point] = becomes
        return becomes

    def _is_letter(self, character: str) -> bool:
        if self._rules.ascii:
            return character in string.ascii_letters
        return unicodedata.category(character)[0] in "LM"

    def _is_written(self, character: str) -> bool:
        return not character.isspace() and unicodedata.category(character) != _SURROGATE


@functools.cache
def pages(rules: Rules) -> Pages:
    """Compute the same for all characters, as a table (code points, 2) that the graph looks up.

    Its entries are the distances to what a character becomes, so that those which stay as they are have equal ones.
    """
    characters = WordCharacters(rules)
    table = np.full((CODE_POINTS, _WIDTH), NOTHING, np.int32)
    table[:, 0] = ENDS
    for code_point in range(CODE_POINTS):
        if code_point not in SURROGATES and code_point not in UNASSIGNED:
            becomes = characters[code_point]
            if becomes != BLANK:
                table[code_point, : len(becomes)] = [ord(one) - code_point for one in becomes]
    return pages_of(table)
