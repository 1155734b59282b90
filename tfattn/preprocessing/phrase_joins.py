"""Phrases in streams of words: two words side by side become one, pass after pass."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfattn import files
from tfattn.preprocessing.pair_counts import keys_of
from tfattn.preprocessing.word_list import damaged, read_table
from tfattn.preprocessing.word_lookup import JOINT

PHRASES = "phrases.tsv"  # the pass, the two words, their count and their score in each line
DECIMALS = 4  # of scores


class Phrase(NamedTuple):
    """Two words that are one, each of which may be a phrase of an earlier pass.

    Attributes:
        number: of the pass, from 1.
        first, second: the words.
        count: how often they stand side by side in the training texts, as the earlier passes leave them.
        score: rounded to `DECIMALS`.
    """

    number: int
    first: str
    second: str
    count: int
    score: float

    @property
    def word(self) -> str:
        """The word that they become."""
        return f"{self.first}{JOINT}{self.second}"


class PhraseJoins:
    """Joins words of streams to phrases, pass after pass, in each from left to right."""

    def __init__(self) -> None:
        self._passes: list[_Pass] = []

    @classmethod
    def of(cls, phrases: Iterable[Phrase], ids: Mapping[str, int]) -> "PhraseJoins":
        """Join the phrases of all passes."""
        joins = cls()
        for _, of_pass in groupby(phrases, lambda one: one.number):
            joins.append(list(of_pass), ids)
        return joins

    def append(self, phrases: Sequence[Phrase], ids: Mapping[str, int]) -> None:
        """Add a pass behind the others.

        Args:
            phrases: of that pass.
            ids: the numbers of their words, and of what they become.
        """
        if phrases:
            self._passes.append(_Pass(*(_numbers(phrases, name, ids) for name in ("first", "second", "word"))))

    def __call__(self, stream: np.ndarray) -> np.ndarray:
        """Join the words of a stream."""
        for one in self._passes:
            stream = one(stream)
        return stream


class _Pass:
    """Joins pairs of numbers (P,) to numbers (P,), from left to right."""

    def __init__(self, firsts: np.ndarray, seconds: np.ndarray, joined: np.ndarray):
        order = np.lexsort((seconds, firsts))
        self._keys = keys_of(firsts[order], seconds[order])
        self._joined = joined[order].astype(np.int32)
        # By the number of a word, whether a phrase begins so: few do, and the others need no search. Behind the last
        # number stand those of other words, and, as Python counts from the end, what is no word.
        self._others = firsts.max(initial=-1) + 1
        self._begins = np.zeros(self._others + 3, bool)
        self._begins[firsts] = True

    def __call__(self, stream: np.ndarray) -> np.ndarray:
        at = np.flatnonzero(self._begins[np.minimum(stream[:-1], self._others)] & (stream[1:] >= 0))
        keys = keys_of(stream[at], stream[at + 1])
        places = np.searchsorted(self._keys, keys)
        is_found = np.append(self._keys, -1)[places] == keys
        at, places = at[is_found], places[is_found]
        # Of pairs that overlap, "a b c d", the first, the third and so on are joined.
        numbers = np.arange(len(at))
        begins = np.maximum.accumulate(np.where(np.diff(at, prepend=-2) != 1, numbers, 0))
        is_joined = (numbers - begins) % 2 == 0
        at, places = at[is_joined], places[is_joined]
        result = stream.copy()
        result[at] = self._joined[places]
        return np.delete(result, at + 1)


def _numbers(phrases: Iterable[Phrase], name: str, ids: Mapping[str, int]) -> np.ndarray:
    return np.array([ids[getattr(one, name)] for one in phrases], np.int32)


def write(phrases: Iterable[Phrase], folder: Path) -> None:
    """Write phrases.tsv into an existing folder."""
    lines = (f"{one.number}\t{one.first}\t{one.second}\t{one.count}\t{one.score:.{DECIMALS}f}\n" for one in phrases)
    files.write_text(folder / PHRASES, "".join(lines))


def read(folder: Path) -> list[Phrase]:
    """Read phrases.tsv.

    Raises:
        DataError: it is missing or damaged; names the line.
    """
    path = folder / PHRASES
    found = []
    for line, values in enumerate(read_table(path, len(Phrase._fields)), start=1):
        number, first, second, count, score = values
        try:
            found.append(Phrase(int(number), first, second, int(count), float(score)))
        except ValueError:
            raise damaged(path, line, "a pass, two words, their count and their score", values) from None
    return found
