"""Counts of words side by side, in memory that does not follow the number of texts."""

import numpy as np

MOST_PAIRS = 20_000_000  # different ones that are counted at once, in 16 bytes each
_HELD = 1 << 22  # pairs that are sorted together


class PairCounts:
    """Counts pairs of numbers in streams of words; where too many different ones occur, the rarest are forgotten.

    Whenever there are more than `most`, those that occurred once are dropped, the next time those that occurred twice
    at most, and so on, as the word2vec tool does (ReduceVocab).

    Args:
        most: different pairs that are kept.
    """

    def __init__(self, most: int = MOST_PAIRS):
        self._most = most
        self._rare = 0  # counts up to this were forgotten the last time
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self._held: list[np.ndarray] = []
        self._size = 0

    def add(self, stream: np.ndarray) -> None:
        """Count the pairs of a stream; in "a a a" the pair "a a" occurs twice."""
        is_pair = (stream[:-1] >= 0) & (stream[1:] >= 0)
        keys = keys_of(stream[:-1][is_pair], stream[1:][is_pair])
        self._held.append(keys)
        self._size += len(keys)
        if self._size >= _HELD:
            self._count()

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys of all pairs, rising, and how often each occurred: (P,) int64 both."""
        self._count()
        return self._keys, self._counts

    def _count(self) -> None:
        """Add what is held to the counts."""
        found, counts = np.unique(np.concatenate([*self._held, np.empty(0, np.int64)]), return_counts=True)
        self._held, self._size = [], 0
        if not len(self._keys):
            self._keys, self._counts = found, counts
        else:
            keys = np.concatenate([self._keys, found])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            self._keys = keys[begins]
            self._counts = np.add.reduceat(np.concatenate([self._counts, counts])[order], begins)
        while len(self._keys) > self._most:
            self._rare += 1
            is_kept = self._counts > self._rare
            self._keys, self._counts = self._keys[is_kept], self._counts[is_kept]


def keys_of(firsts: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Join pairs of numbers, (P,) int32 each, to keys: (P,) int64, in the order of the pairs."""
    return (firsts.astype(np.int64) << 32) | seconds


def pairs_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of keys, (P,) int32 each."""
    return (keys >> 32).astype(np.int32), keys.astype(np.int32)
