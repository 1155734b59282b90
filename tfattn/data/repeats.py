"""Which rows say what other rows say."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Repeats:
    """Which of N rows repeat others.

    Attributes:
        is_duplicate: an earlier row says the same.
        is_conflicting: a row that says the same is of another stratum.
        is_leaked: it measures, and a training row says the same.
    """

    is_duplicate: np.ndarray
    is_conflicting: np.ndarray
    is_leaked: np.ndarray


def repeats(texts: np.ndarray, strata: np.ndarray, is_training: np.ndarray) -> Repeats:
    """Compare all rows.

    Args:
        texts: (N,) uint64, equal where rows say the same.
        strata: (N,) int32, such as classes.
        is_training: (N,) bool.

    Example:
        >>> repeats(np.array([5, 7, 5], np.uint64), np.array([0, 0, 1]), np.array([True, True, False])).is_leaked
        array([False, False,  True])
    """
    found = Repeats(*(np.zeros(len(texts), bool) for _ in range(3)))
    ordered = np.sort(texts)
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if len(shared):
        group = np.minimum(np.searchsorted(shared, texts), len(shared) - 1)
        rows = np.flatnonzero(shared[group] == texts)  # few most often: what follows costs nothing
        group = group[rows]
        _, first = np.unique(group, return_index=True)
        lowest, highest = np.full(len(shared), np.iinfo(np.int32).max), np.full(len(shared), -1)
        np.minimum.at(lowest, group, strata[rows])
        np.maximum.at(highest, group, strata[rows])
        is_trained = np.zeros(len(shared), bool)
        is_trained[group[is_training[rows]]] = True
        found.is_duplicate[rows] = True
        found.is_duplicate[rows[first]] = False
        found.is_conflicting[rows] = (lowest != highest)[group]
        found.is_leaked[rows] = is_trained[group] & ~is_training[rows]
    return found
