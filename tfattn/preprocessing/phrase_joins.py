"""Counting of adjacent word pairs, and joining of pairs to phrases, in streams of word ids."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfattn import files
from tfattn.preprocessing.word_characters import PHRASE_SEPARATOR
from tfattn.preprocessing.word_list import damaged_line, read_table

MAX_PAIRS = 20_000_000  # distinct pairs that are counted at once; each takes 16 bytes
_BUFFER_SIZE = 1 << 22  # pairs that are sorted together


class PairCounts:
    """Counts of adjacent word ids in streams, whose rarest pairs are pruned when there are too many distinct pairs.

    The first pruning drops pairs that occurred once, the next drops pairs that occurred at most twice, and so on, as
    the word2vec tool does (ReduceVocab).

    Args:
        max_pairs: the number of distinct pairs above which rare pairs are pruned.
    """

    def __init__(self, max_pairs: int = MAX_PAIRS):
        self._max_pairs = max_pairs
        self._pruned_count = 0  # the highest count that the last pruning dropped
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self._buffer: list[np.ndarray] = []
        self._size = 0

    def add(self, stream: np.ndarray) -> None:
        """Count the pairs of a stream; "a a a" has the pair "a a" twice."""
        is_pair = (stream[:-1] >= 0) & (stream[1:] >= 0)
        keys = pack_pairs(stream[:-1][is_pair], stream[1:][is_pair])
        self._buffer.append(keys)
        self._size += len(keys)
        if self._size >= _BUFFER_SIZE:
            self._count()

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys of all pairs, ascending, and their counts: (P,) int64 each."""
        self._count()
        return self._keys, self._counts

    def _count(self) -> None:
        """Add the buffered pairs to the counts."""
        found, counts = np.unique(np.concatenate([*self._buffer, np.empty(0, np.int64)]), return_counts=True)
        self._buffer, self._size = [], 0
        if not len(self._keys):
            self._keys, self._counts = found, counts
        else:
            keys = np.concatenate([self._keys, found])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            self._keys = keys[starts]
            self._counts = np.add.reduceat(np.concatenate([self._counts, counts])[order], starts)
        while len(self._keys) > self._max_pairs:
            self._pruned_count += 1
            is_kept = self._counts > self._pruned_count
            self._keys, self._counts = self._keys[is_kept], self._counts[is_kept]


def pack_pairs(firsts: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Pack pairs of ids, (P,) int32 each, into keys (P,) int64 that sort as the pairs do."""
    return (firsts.astype(np.int64) << 32) | seconds


def unpack_pairs(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unpack keys into pairs of ids, (P,) int32 each."""
    return (keys >> 32).astype(np.int32), keys.astype(np.int32)


PHRASES = "phrases.tsv"  # each line: the pass, the two words, their count and their score
DECIMALS = 4  # of scores


class Phrase(NamedTuple):
    """A pair of words that is joined; each may be a phrase of an earlier pass.

    Attributes:
        number: the number of the pass, from 1.
        first, second: the words.
        count: how often the words are adjacent in the training texts, after the earlier passes.
        score: the score of the pair, rounded to `DECIMALS`.
    """

    number: int
    first: str
    second: str
    count: int
    score: float

    @property
    def word(self) -> str:
        """The joined word."""
        return f"{self.first}{PHRASE_SEPARATOR}{self.second}"


class PhraseJoins:
    """Passes over a stream of word ids; each joins pairs of words to phrases, from left to right."""

    def __init__(self) -> None:
        self._passes: list[_Pass] = []

    @classmethod
    def from_phrases(cls, phrases: Iterable[Phrase], ids: Mapping[str, int]) -> "PhraseJoins":
        """Make the passes for phrases that are sorted by pass."""
        joins = cls()
        for _, phrases_of_pass in groupby(phrases, lambda phrase: phrase.number):
            joins.append(list(phrases_of_pass), ids)
        return joins

    def append(self, phrases: Sequence[Phrase], ids: Mapping[str, int]) -> None:
        """Append a pass.

        Args:
            phrases: the phrases of the pass.
            ids: the ids of their words and of the joined words.
        """
        if phrases:
            self._passes.append(_Pass(*(_numbers(phrases, name, ids) for name in ("first", "second", "word"))))

    def __call__(self, stream: np.ndarray) -> np.ndarray:
        """Join the words of a stream."""
        for join in self._passes:
            stream = join(stream)
        return stream


class _Pass:
    """A pass that replaces pairs of ids (P,) by ids (P,), from left to right."""

    def __init__(self, firsts: np.ndarray, seconds: np.ndarray, joined: np.ndarray):
        order = np.lexsort((seconds, firsts))
        self._keys = pack_pairs(firsts[order], seconds[order])
        self._joined = joined[order].astype(np.int32)
        # Whether a phrase starts with each id: few do, and the other ids need no search. The three entries after the
        # last id are for other words and, through negative indices, for the markers of the stream.
        self._others = firsts.max(initial=-1) + 1
        self._starts_phrase = np.zeros(self._others + 3, bool)
        self._starts_phrase[firsts] = True

    def __call__(self, stream: np.ndarray) -> np.ndarray:
        starts = np.flatnonzero(self._starts_phrase[np.minimum(stream[:-1], self._others)] & (stream[1:] >= 0))
        keys = pack_pairs(stream[starts], stream[starts + 1])
        indices = np.searchsorted(self._keys, keys)
        is_found = np.append(self._keys, -1)[indices] == keys
        starts, indices = starts[is_found], indices[is_found]
        # Of overlapping pairs, as in "a b c d", only the first, the third and so on are joined.
        numbers = np.arange(len(starts))
        runs = np.maximum.accumulate(np.where(np.diff(starts, prepend=-2) != 1, numbers, 0))
        is_joined = (numbers - runs) % 2 == 0
        starts, indices = starts[is_joined], indices[is_joined]
        result = stream.copy()
        result[starts] = self._joined[indices]
        return np.delete(result, starts + 1)


def _numbers(phrases: Iterable[Phrase], name: str, ids: Mapping[str, int]) -> np.ndarray:
    return np.array([ids[getattr(phrase, name)] for phrase in phrases], np.int32)


def write(phrases: Iterable[Phrase], folder: Path) -> None:
    """Write phrases.tsv into an existing folder."""
    lines = (f"{p.number}\t{p.first}\t{p.second}\t{p.count}\t{p.score:.{DECIMALS}f}\n" for p in phrases)
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
            raise damaged_line(path, line, "a pass, two words, their count and their score", values) from None
    return found
