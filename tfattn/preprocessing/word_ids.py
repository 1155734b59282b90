"""Conversion of texts to word ids, outside the graph."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

import numpy as np

from tfattn.preprocessing.phrase_joins import Phrase, PhraseJoins
from tfattn.preprocessing.word_streams import DROPPED, Segment, encode_streams, split_stream


class WordIds:
    """Encoder of texts as word ids.

    Args:
        words: the words in the order of their ids.
        phrases: the phrases to join first, including those that are not among `words`.
    """

    def __init__(self, words: Sequence[str], phrases: Sequence[Phrase] = ()):
        parts = (word for phrase in phrases for word in (phrase.first, phrase.second, phrase.word))
        self._ids = {word: number for number, word in enumerate(dict.fromkeys([*words, *parts]))}
        self._size = len(words)
        self._joins = PhraseJoins.from_phrases(phrases, self._ids)

    def __contains__(self, word: str) -> bool:
        """Return whether a word is listed or is part of a phrase."""
        return word in self._ids

    def encode(self, texts: Iterable[str], segment: Segment) -> Iterator[np.ndarray]:
        """Yield the ids of the words of each text, (N,) int32; unlisted words are dropped."""
        for stream in map(self._joins, encode_streams(texts, segment, self._numbers_of)):
            stream[stream >= self._size] = DROPPED
            yield from split_stream(stream)

    def _numbers_of(self, texts: Sequence[list[str]]) -> np.ndarray:
        numbers = map(self._ids.get, chain.from_iterable(texts), repeat(DROPPED))
        return np.fromiter(numbers, np.int32, sum(map(len, texts)))
