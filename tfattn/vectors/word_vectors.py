"""Word vectors in NumPy, with nearest neighbors and analogies.

`export/word_vectors.py` has the same search as a TensorFlow graph inside exports; this module needs no TensorFlow, so
that files of vectors are usable without it.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tfattn.errors import ConfigError, DataError, nearest

MAX_COMPARED = 20_000  # words that are compared with an unknown word for suggestions


class Scored(NamedTuple):
    """A word and the cosine similarity of its vector, -1 to 1."""

    word: str
    score: float


class WordVectors:
    """V words, each with a vector of D numbers.

    Args:
        words: distinct words, the most frequent first.
        vectors: (V, D) float32.
        counts: (V,) the count of each word in the training text; None if unknown.
        subword_vector: computes the vector (D,) of an unknown word from its character n-grams, or None if it has
            none; by default unknown words have no vectors.

    Example:
        >>> vectors = WordVectors(["cat", "cats", "rain"], np.array([[1, 0], [2, 1], [0, -1]], "float32"))
        >>> vectors.neighbors("cat", k=1)
        [Scored(word='cats', score=0.8944271802902222)]
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: np.ndarray,
        counts: np.ndarray | None = None,
        subword_vector: Callable[[str], np.ndarray | None] | None = None,
    ):
        self.words = words
        self.vectors = vectors
        self.counts = counts
        self._subword_vector = subword_vector or (lambda word: None)
        assert vectors.ndim == 2 and len(words) == len(vectors) == len(self._indices)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._indices

    @property
    def width(self) -> int:
        """The dimension D of the vectors."""
        return self.vectors.shape[1]

    def index(self, word: str) -> int:
        """Return the index of a word.

        Raises:
            DataError: the word has no vector; suggests words with a similar spelling.
        """
        if word not in self._indices:
            first = word[:1].casefold()
            candidates = (
                other for other in self.words if abs(len(other) - len(word)) <= 2 and other[:1].casefold() == first
            )
            raise DataError(
                "there is no vector of this word",
                expected=f"one of {len(self):,} words",
                received=repr(word),
                remedy=nearest(word, itertools.islice(candidates, MAX_COMPARED), limit=3),
            )
        return self._indices[word]

    def find(self, word: str) -> int | None:
        """Return the index of a word, or else of the word in another case; None if there is none."""
        return self._indices.get(word, self.casefolded_indices.get(word.casefold()))

    def vector(self, word: str) -> np.ndarray:
        """Return the vector of a word (D,), or compute it from character n-grams; errors as `index`."""
        if word not in self and (vector := self._subword_vector(word)) is not None:
            return vector
        return self.vectors[self.index(word)]

    def unit_vector(self, word: str) -> np.ndarray:
        """Return the vector of a word (D,), normalized to length 1; errors as `index`."""
        vector = self.vector(word)
        return vector / (np.sqrt(vector @ vector) or np.inf)

    def unit_vectors(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors at the indices, normalized to length 1: (N, D)."""
        return self.vectors[indices] / self.norms[indices, None]

    @cached_property
    def norms(self) -> np.ndarray:
        """The norms of all vectors (V,); infinite for zero vectors, whose similarity is 0."""
        norms = np.sqrt(np.einsum("vd,vd->v", self.vectors, self.vectors))
        norms[norms == 0] = np.inf
        return norms

    def similarity(self, first: str, second: str) -> float:
        """Compute the cosine similarity of two words; errors as `index`."""
        return float(self.unit_vector(first) @ self.unit_vector(second))

    def neighbors(self, query: str | np.ndarray, k: int = 10) -> list[Scored]:
        """Find the K words whose vectors are nearest by angle, best first.

        Args:
            query: a word, which is excluded from the result, or a vector (D,).
            k: the number of words; fewer if there are fewer words.

        Raises:
            DataError: the word has no vector; or as `nearest`.
        """
        return self.nearest(query, k) if isinstance(query, np.ndarray) else self.analogy([query], k=k)

    def analogy(self, positive: Sequence[str], negative: Sequence[str] = (), k: int = 10) -> list[Scored]:
        """Find the K words nearest to a sum of words: king - man + woman gives queen.

        Vectors are normalized before the sum, so that all words have the same weight. The query words are excluded.

        Args:
            positive: words that are added.
            negative: words that are subtracted.
            k: the number of words.

        Raises:
            DataError: a word has no vector.

        Source: Mikolov et al. 2013, "Linguistic Regularities in Continuous Space Word Representations"; called 3CosAdd
            by Levy and Goldberg 2014.
        """
        vectors = np.stack([self.unit_vector(word) for word in [*positive, *negative]])
        signs = np.repeat([1.0, -1.0], [len(positive), len(negative)]).astype("float32")
        excluded = [self._indices[word] for word in [*positive, *negative] if word in self]
        return self.nearest(signs @ vectors, k, without=excluded)

    def nearest(self, vector: np.ndarray, k: int, without: Sequence[int] = ()) -> list[Scored]:
        """Find the K words whose vectors are nearest to a vector (D,), without the words at some indices.

        Raises:
            ConfigError: the vector has another width, or k is below 1.
        """
        if vector.shape != (self.width,) or k < 1:
            raise ConfigError(
                "no neighbors can be found",
                expected=f"a vector of {self.width} numbers, and k of at least 1",
                received=f"shape {vector.shape}, k={k}",
            )
        norm = np.sqrt(vector @ vector)
        scores = self.vectors @ vector.astype("float32", copy=False) / self.norms / (norm or np.inf)
        scores[list(without)] = -np.inf
        k = min(k, len(self) - len(set(without)))
        top = np.sort(np.argpartition(-scores, k - 1)[:k]) if k else np.zeros(0, int)
        ranked = top[np.argsort(-scores[top], kind="stable")]
        return [Scored(self.words[index], float(scores[index])) for index in ranked]

    @cached_property
    def casefolded_indices(self) -> dict[str, int]:
        """The index of each casefolded word; the most frequent word wins."""
        indices: dict[str, int] = {}
        for index, word in enumerate(self.words):
            indices.setdefault(word.casefold(), index)
        return indices

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}
