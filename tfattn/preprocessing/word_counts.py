"""Counts of words, in memory that is independent of the number of texts."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count

import numpy as np

# Distinct words that are counted at once; each takes about 100 bytes.
MAX_WORDS = 10_000_000
_WORDS_PER_TEXT = 1000


class WordCounts:
    """Word counts whose rarest words are pruned when there are too many distinct words.

    The first pruning drops words that occurred once, the next drops words that occurred at most twice, and so on, as
    the word2vec tool does (ReduceVocab, above 21 million). The count of a word that was rare at a pruning is too low,
    and the word may be missing. Words that are frequent everywhere are counted exactly.

    Args:
        max_words: the number of distinct words above which rare words are pruned.

    Attributes:
        counts: how often each word occurs.
        total: the number of words, pruned words included.
    """

    def __init__(self, max_words: int = MAX_WORDS):
        self.counts: Counter[str] = Counter()
        self.total = 0
        self._max_words = max_words
        self._pruned_count = 0  # the highest count that the last pruning dropped

    def add(self, texts: Sequence[list[str]]) -> None:
        """Count the words of further texts."""
        self.counts.update(chain.from_iterable(texts))
        self.total += sum(map(len, texts))
        while len(self.counts) > self._max_words:
            self._pruned_count += 1
            self.counts = Counter({word: count for word, count in self.counts.items() if count > self._pruned_count})


class NumberedWords(WordCounts):
    """Word counts that also assign an id to each word when it first occurs; a pruned word gets a new id."""

    def __init__(self, max_words: int = MAX_WORDS):
        super().__init__(max_words)
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)

    def add_and_number(self, texts: Sequence[list[str]]) -> np.ndarray:
        """Count the words of texts and return their ids, all texts concatenated: (N,) int32."""
        self.add(texts)
        found = map(self._numbers.__getitem__, chain.from_iterable(texts))
        numbers = np.fromiter(found, np.int32, sum(map(len, texts)))
        if len(self._numbers) > len(self.counts):
            for word in self._numbers.keys() - self.counts.keys():
                del self._numbers[word]
        return numbers

    def index_map(self, words: Sequence[str], *, others: int) -> np.ndarray:
        """Return, for each id, the index of its word in a list, or `others`: int32."""
        indices = np.full(max(self._numbers.values(), default=-1) + 1, others, np.int32)
        indices[[self._numbers[word] for word in words]] = range(len(words))
        return indices


def most_frequent(
    counts: Mapping[str, int], *, min_count: int, size: int | None = None, without: frozenset[str] = frozenset()
) -> list[tuple[str, int]]:
    """List words and their counts, the most frequent first; equally frequent words are sorted.

    Args:
        counts: how often each word occurs.
        min_count: the lowest count of a listed word.
        size: the maximum number of words; None for all.
        without: words to leave out.
    """
    found = [(word, count) for word, count in counts.items() if count >= min_count and word not in without]
    return sorted(found, key=lambda item: (-item[1], item[0]))[:size]


def repeat_words(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield texts in which each word occurs as often as it was counted, for trainers of `tokenizers`."""
    for word, occurrences in counts.items():
        for start in range(0, occurrences, _WORDS_PER_TEXT):
            yield " ".join([word] * min(_WORDS_PER_TEXT, occurrences - start))
