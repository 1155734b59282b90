"""Counts of words, in memory that does not follow the number of texts."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, count

import numpy as np

# Different words that are counted at once, in about 100 bytes each.
MOST_COUNTED = 10_000_000


class WordCounts:
    """Counts words; where too many different ones occur, the rarest are forgotten.

    Whenever there are more than `most`, those that occurred once are dropped, the next time those that occurred twice
    at most, and so on, as the word2vec tool does (ReduceVocab, above 21 million). So the count of a word that was rare
    at such a time is too low, and the word may be missing; words that are frequent everywhere are counted exactly.

    Args:
        most: different words that are kept.

    Attributes:
        counts: how often each word occurs.
        total: words, those that were forgotten included.
    """

    def __init__(self, most: int = MOST_COUNTED):
        self.counts: Counter[str] = Counter()
        self.total = 0
        self._most = most
        self._rare = 0  # counts up to this were forgotten the last time

    def add(self, texts: Sequence[list[str]]) -> None:
        """Count the words of some more texts."""
        self.counts.update(chain.from_iterable(texts))
        self.total += sum(map(len, texts))
        while len(self.counts) > self._most:
            self._rare += 1
            self.counts = Counter({word: count for word, count in self.counts.items() if count > self._rare})


class NumberedWords(WordCounts):
    """Counts words, and gives each a number when it first occurs: one that was forgotten gets a new number."""

    def __init__(self, most: int = MOST_COUNTED):
        super().__init__(most)
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)

    def numbers_of(self, texts: Sequence[list[str]]) -> np.ndarray:
        """Count the words of some texts, one after the other, and return their numbers: (N,) int32."""
        self.add(texts)
        found = map(self._numbers.__getitem__, chain.from_iterable(texts))
        numbers = np.fromiter(found, np.int32, sum(map(len, texts)))
        if len(self._numbers) > len(self.counts):
            for word in self._numbers.keys() - self.counts.keys():
                del self._numbers[word]
        return numbers

    def places_in(self, words: Sequence[str], *, others: int) -> np.ndarray:
        """Return for each number the place of its word in a list, or `others`: int32."""
        places = np.full(max(self._numbers.values(), default=-1) + 1, others, np.int32)
        places[[self._numbers[word] for word in words]] = range(len(words))
        return places


def most_frequent(
    counts: Mapping[str, int], *, min_count: int, size: int | None = None, without: frozenset[str] = frozenset()
) -> list[tuple[str, int]]:
    """List words and their counts, the most frequent first, and of equally frequent ones by the word.

    Args:
        counts: of all words.
        min_count: of a word that is listed.
        size: the most words; None for all.
        without: words that are not listed.
    """
    found = [(word, count) for word, count in counts.items() if count >= min_count and word not in without]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:size]
