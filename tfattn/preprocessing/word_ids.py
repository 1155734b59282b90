"""The ids of words, outside of the graph."""

from collections.abc import Iterable, Sequence
from itertools import chain, repeat

import numpy as np

from tfattn.preprocessing.word_table import UNKNOWN_ID


class WordIds:
    """Looks words up, as dividing a text has made them.

    Args:
        words: in the order of their ids.
    """

    def __init__(self, words: Iterable[str]):
        self._ids = {word: number for number, word in enumerate(words)}

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def of(self, texts: Sequence[list[str]]) -> np.ndarray:
        """Look up the words of several texts, one after the other: (N,) int32, -1 where one is unknown."""
        ids = map(self._ids.get, chain.from_iterable(texts), repeat(UNKNOWN_ID))
        return np.fromiter(ids, np.int32, sum(map(len, texts)))
