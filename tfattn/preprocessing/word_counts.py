"""Counts of words, in memory that does not follow the number of texts."""

from collections import Counter
from collections.abc import Iterable

# Different words that are counted at once, in about 100 bytes each.
MOST_COUNTED = 10_000_000


class WordCounts:
    """Counts words; where too many different ones occur, the rarest are forgotten.

    Whenever there are more than `most`, those that occurred once are dropped, the next time those that occurred twice
    at most, and so on, as the word2vec tool does (ReduceVocab). Then the counts of rare words are too low, and a word
    may be missing whose count is no more than the number of such times; those of others are exact. (The tool reduces
    above 21 million.)

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

    def add(self, words: list[str]) -> None:
        """Count some more words."""
        self.counts.update(words)
        self.total += len(words)
        while len(self.counts) > self._most:
            self._rare += 1
            self.counts = Counter({word: count for word, count in self.counts.items() if count > self._rare})

    def most_frequent(self, *, min_count: int, size: int | None, without: Iterable[str] = ()) -> list[tuple[str, int]]:
        """List words and their counts, the most frequent first, and of equally frequent ones by the word.

        Args:
            min_count: of a word that is listed.
            size: the most words; None for all.
            without: words that are not listed.
        """
        left_out = frozenset(without)
        found = [(word, count) for word, count in self.counts.items() if count >= min_count and word not in left_out]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:size]
