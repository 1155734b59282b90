"""BM25, the relevance of documents to a query by their common words."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

K1, B = 1.2, 0.75  # the usual constants
# Characters of Chinese and Japanese are words of their own.
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


class Bm25:
    """An index of documents in memory.

    Args:
        documents: n texts.

    Example:
        >>> index = Bm25(["a red apple", "a green pear", "the sky"])
        >>> index.scores("red pears and apples, or a pear").argmax()
        1

    Source: Robertson and Zaragoza 2009, "The probabilistic relevance framework: BM25 and beyond", with the inverse
    document frequency of Lucene, which is never negative.
    """

    def __init__(self, documents: Sequence[str]):
        self._size = len(documents)
        counts = [Counter(words(text)) for text in documents]
        lengths = np.array([sum(found.values()) for found in counts], np.float64)
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if counts else lengths
        postings: dict[str, list[tuple[int, int]]] = {}
        for number, found in enumerate(counts):
            for word, count in found.items():
                postings.setdefault(word, []).append((number, count))
        self._weights: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for word, entries in postings.items():
            numbers, frequencies = np.array(entries).T
            rarity = np.log1p((self._size - len(entries) + 0.5) / (len(entries) + 0.5))
            self._weights[word] = numbers, rarity * frequencies * (K1 + 1) / (frequencies + norms[numbers])

    def scores(self, query: str) -> np.ndarray:
        """Compute the score of each document, (n,) float64; 0 for documents without a word of the query."""
        scores = np.zeros(self._size)
        for word, count in Counter(words(query)).items():
            if word in self._weights:
                numbers, weights = self._weights[word]
                scores[numbers] += count * weights
        return scores


def words(text: str) -> list[str]:
    """Split a text into words in lower case."""
    return _WORDS.findall(text.lower())
