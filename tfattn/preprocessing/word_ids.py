"""The ids of words, outside of the graph."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

import numpy as np

from tfattn.preprocessing.number_streams import DROPPED, Divide, streams, texts_of
from tfattn.preprocessing.phrase_joins import Phrase, PhraseJoins


class WordIds:
    """Turns texts into ids.

    Args:
        words: in the order of their ids.
        phrases: into which words are joined first, also those that are not among `words`.
    """

    def __init__(self, words: Sequence[str], phrases: Sequence[Phrase] = ()):
        parts = (word for one in phrases for word in (one.first, one.second, one.word))
        self._ids = {word: number for number, word in enumerate(dict.fromkeys([*words, *parts]))}
        self._size = len(words)
        self._joins = PhraseJoins.of(phrases, self._ids)

    def __contains__(self, word: str) -> bool:
        """Whether a word is listed, or a part of a phrase."""
        return word in self._ids

    def of(self, texts: Iterable[str], divide: Divide) -> Iterator[np.ndarray]:
        """Yield the ids of the words of each text, (N,) int32; others are dropped."""
        for stream in map(self._joins, streams(texts, divide, self._numbers_of)):
            stream[stream >= self._size] = DROPPED
            yield from texts_of(stream)

    def _numbers_of(self, texts: Sequence[list[str]]) -> np.ndarray:
        numbers = map(self._ids.get, chain.from_iterable(texts), repeat(DROPPED))
        return np.fromiter(numbers, np.int32, sum(map(len, texts)))
