"""Duplicate rows: repeats, label conflicts and leaks from training to evaluation."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Duplicates:
    """Which of N rows share their content with other rows.

    Attributes:
        is_duplicate: (N,) bool, an earlier row has the same content.
        is_conflicting: (N,) bool, a row with the same content has another stratum.
        is_leaked: (N,) bool, the row is not a training row, but a training row has the same content.
    """

    is_duplicate: np.ndarray
    is_conflicting: np.ndarray
    is_leaked: np.ndarray


def find_duplicates(texts: np.ndarray, strata: np.ndarray, is_training: np.ndarray) -> Duplicates:
    """Compare all rows with each other.

    Args:
        texts: (N,) uint64, hashes of the content of rows.
        strata: (N,) int32, such as classes.
        is_training: (N,) bool.

    Example:
        >>> hashes = np.array([5, 7, 5], np.uint64)
        >>> find_duplicates(hashes, np.array([0, 0, 1]), np.array([True, True, False])).is_leaked
        array([False, False,  True])
    """
    found = Duplicates(*(np.zeros(len(texts), bool) for _ in range(3)))
    ordered = np.sort(texts)
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if len(shared):
        group = np.minimum(np.searchsorted(shared, texts), len(shared) - 1)
        rows = np.flatnonzero(shared[group] == texts)  # usually few, so the rest is cheap
        group = group[rows]
        _, first = np.unique(group, return_index=True)
        lowest, highest = np.full(len(shared), np.iinfo(np.int32).max), np.full(len(shared), -1)
        np.minimum.at(lowest, group, strata[rows])
        np.maximum.at(highest, group, strata[rows])
        has_training = np.zeros(len(shared), bool)
        has_training[group[is_training[rows]]] = True
        found.is_duplicate[rows] = True
        found.is_duplicate[rows[first]] = False
        found.is_conflicting[rows] = (lowest != highest)[group]
        found.is_leaked[rows] = has_training[group] & ~is_training[rows]
    return found
