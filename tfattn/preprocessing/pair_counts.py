"""Counts of adjacent word pairs, in memory that is independent of the number of texts."""

import numpy as np

MAX_PAIRS = 20_000_000  # distinct pairs that are counted at once; each takes 16 bytes
_BUFFER_SIZE = 1 << 22  # pairs that are sorted together


class PairCounts:
    """Counts of adjacent word ids in streams, whose rarest pairs are pruned when there are too many distinct pairs.

    The first pruning drops pairs that occurred once, the next drops pairs that occurred at most twice, and so on, as
    the word2vec tool does (ReduceVocab).

    Args:
        max_pairs: the number of distinct pairs above which rare pairs are pruned.
    """

    def __init__(self, max_pairs: int = MAX_PAIRS):
        self._max_pairs = max_pairs
        self._pruned_count = 0  # the highest count that the last pruning dropped
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self._buffer: list[np.ndarray] = []
        self._size = 0

    def add(self, stream: np.ndarray) -> None:
        """Count the pairs of a stream; "a a a" has the pair "a a" twice."""
        is_pair = (stream[:-1] >= 0) & (stream[1:] >= 0)
        keys = pack_pairs(stream[:-1][is_pair], stream[1:][is_pair])
        self._buffer.append(keys)
        self._size += len(keys)
        if self._size >= _BUFFER_SIZE:
            self._count()

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys of all pairs, ascending, and their counts: (P,) int64 each."""
        self._count()
        return self._keys, self._counts

    def _count(self) -> None:
        """Add the buffered pairs to the counts."""
        found, counts = np.unique(np.concatenate([*self._buffer, np.empty(0, np.int64)]), return_counts=True)
        self._buffer, self._size = [], 0
        if not len(self._keys):
            self._keys, self._counts = found, counts
        else:
            keys = np.concatenate([self._keys, found])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            self._keys = keys[starts]
            self._counts = np.add.reduceat(np.concatenate([self._counts, counts])[order], starts)
        while len(self._keys) > self._max_pairs:
            self._pruned_count += 1
            is_kept = self._counts > self._pruned_count
            self._keys, self._counts = self._keys[is_kept], self._counts[is_kept]


def pack_pairs(firsts: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Pack pairs of ids, (P,) int32 each, into keys (P,) int64 that sort as the pairs do."""
    return (firsts.astype(np.int64) << 32) | seconds


def unpack_pairs(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unpack keys into pairs of ids, (P,) int32 each."""
    return (keys >> 32).astype(np.int32), keys.astype(np.int32)
