"""Word vectors in memory, and what is asked of them: similar words, analogies."""

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tfattn.errors import ConfigError, DataError, nearest

MOST_COMPARED = 20_000  # words whose spelling is held against that of an unknown one


class Scored(NamedTuple):
    """A word, and the cosine of the angle between its vector and another, -1 to 1."""

    word: str
    score: float


class WordVectors:
    """V words, each with a vector of D numbers.

    Args:
        words: all different, the most frequent first, as files of vectors have them.
        vectors: (V, D) float32.
        counts: (V,) how often each word stands in the training text; None where nobody knows.
        made: makes the vector (D,) of another word from its characters, or None where they tell nothing; without it
            other words have no vectors.

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
        made: Callable[[str], np.ndarray | None] | None = None,
    ):
        self.words = words
        self.vectors = vectors
        self.counts = counts
        self._made = made or (lambda word: None)
        assert vectors.ndim == 2 and len(words) == len(vectors) == len(self._places)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._places

    @property
    def width(self) -> int:
        """D."""
        return self.vectors.shape[1]

    def place(self, word: str) -> int:
        """Find the row of a word.

        Raises:
            DataError: it has no vector; names words that are spelled alike.
        """
        if word not in self._places:
            first = word[:1].casefold()
            likely = (one for one in self.words if abs(len(one) - len(word)) <= 2 and one[:1].casefold() == first)
            raise DataError(
                "there is no vector of this word",
                expected=f"one of {len(self):,} words",
                received=repr(word),
                remedy=nearest(word, itertools.islice(likely, MOST_COMPARED), limit=3),
            )
        return self._places[word]

    def find(self, word: str) -> int | None:
        """Return the row of a word as it is written, or else in other case; None where there is none."""
        return self._places.get(word, self.places_without_case.get(word.casefold()))

    def vector(self, word: str) -> np.ndarray:
        """Return the vector of a word (D,), or make one of its characters; else as `place`."""
        if word not in self and (made := self._made(word)) is not None:
            return made
        return self.vectors[self.place(word)]

    def direction(self, word: str) -> np.ndarray:
        """Return the vector of a word (D,), brought to length 1; else as `vector`."""
        vector = self.vector(word)
        return vector / (np.sqrt(vector @ vector) or np.inf)

    def directions(self, places: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors in these rows, brought to length 1: (N, D)."""
        return self.vectors[places] / self.lengths[places, None]

    @cached_property
    def lengths(self) -> np.ndarray:
        """The lengths of all vectors (V,); infinite for a vector of zeros, which is similar to none."""
        lengths = np.sqrt(np.einsum("vd,vd->v", self.vectors, self.vectors))
        lengths[lengths == 0] = np.inf
        return lengths

    def similarity(self, one: str, other: str) -> float:
        """Compute the cosine of the angle between the vectors of two words; else as `place`."""
        return float(self.direction(one) @ self.direction(other))

    def neighbors(self, of: str | np.ndarray, k: int = 10) -> list[Scored]:
        """Find the K words whose vectors are nearest by angle, best first.

        Args:
            of: a word, which is no neighbor of itself, or a vector (D,).
            k: how many; fewer where there are not so many.

        Raises:
            DataError: the word has no vector; or as `nearest_to`.
        """
        return self.nearest_to(of, k) if isinstance(of, np.ndarray) else self.analogy([of], k=k)

    def analogy(self, positive: Sequence[str], negative: Sequence[str] = (), k: int = 10) -> list[Scored]:
        """Find the K words nearest to a sum of words: king - man + woman gives queen.

        The sum is that of vectors of length 1, so that no word weighs more than another; its own words are no answers.

        Args:
            positive: words that are added.
            negative: words that are subtracted.
            k: how many.

        Raises:
            DataError: a word has no vector.

        Source: Mikolov et al. 2013, "Linguistic Regularities in Continuous Space Word Representations"; called 3CosAdd
            by Levy and Goldberg 2014.
        """
        directions = np.stack([self.direction(word) for word in [*positive, *negative]])
        signs = np.repeat([1.0, -1.0], [len(positive), len(negative)]).astype("float32")
        own = [self._places[word] for word in [*positive, *negative] if word in self]
        return self.nearest_to(signs @ directions, k, without=own)

    def nearest_to(self, vector: np.ndarray, k: int, without: Sequence[int] = ()) -> list[Scored]:
        """Find the K words whose vectors are nearest to a vector (D,), but for those in some rows.

        Raises:
            ConfigError: the vector is of another width, or k is none.
        """
        if vector.shape != (self.width,) or k < 1:
            raise ConfigError(
                "no neighbors can be found",
                expected=f"a vector of {self.width} numbers, and k of at least 1",
                received=f"shape {vector.shape}, k={k}",
            )
        length = np.sqrt(vector @ vector)
        scores = self.vectors @ vector.astype("float32", copy=False) / self.lengths / (length or np.inf)
        scores[list(without)] = -np.inf
        k = min(k, len(self) - len(set(without)))
        best = np.sort(np.argpartition(-scores, k - 1)[:k]) if k else np.zeros(0, int)
        ranked = best[np.argsort(-scores[best], kind="stable")]
        return [Scored(self.words[place], float(scores[place])) for place in ranked]

    @cached_property
    def places_without_case(self) -> dict[str, int]:
        """The row of each word with its case folded, of several the first: of the most frequent."""
        places: dict[str, int] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word.casefold(), place)
        return places

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}
