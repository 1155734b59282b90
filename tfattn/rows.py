"""Arrays of rows: joined, widened to their longest row, sampled, and searched for the nearest."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")

BLOCK_QUERIES, BLOCK_ROWS = 64, 2**15  # that are compared at a time


def evenly_spaced(values: Sequence[Item], limit: int) -> list[Item]:
    """Return at most `limit` values at equal distances, the first and the last included.

    Example:
        >>> evenly_spaced("abcde", 3)
        ['a', 'c', 'e']
    """
    return [values[index] for index in np.unique(np.linspace(0, len(values) - 1, min(limit, len(values))).astype(int))]


def joined_rows(parts: Sequence[np.ndarray], *, pad: object = 0) -> np.ndarray:
    """Concatenate the rows of arrays; other axes are padded to the widest part.

    Args:
        parts: at least one array, all with the same type and number of axes; the first axis is rows.
        pad: the padding value; texts (bytes) are padded with empty texts if it is 0.

    Returns:
        the rows of all parts, in order.

    Example:
        >>> joined_rows([np.array([[1, 2]]), np.array([[3], [4]])]).tolist()
        [[1, 2], [3, 0], [4, 0]]
    """
    widths = np.max([part.shape[1:] for part in parts], axis=0).astype(int)
    return np.concatenate([widened(part, widths, pad=pad) for part in parts])


def widened(rows: np.ndarray, widths: Sequence[int], *, pad: object = 0) -> np.ndarray:
    """Pad the axes after the first to given widths, at their ends.

    Args:
        rows: (N, ...).
        widths: the widths of the first axes after N, at least their current widths; further axes are unchanged.
        pad: the padding value, see `joined_rows`.
    """
    ends = [0, *(width - size for width, size in zip(widths, rows.shape[1:], strict=False))]
    if not any(ends):
        return rows
    fill = b"" if rows.dtype == object and pad == 0 else pad
    return np.pad(rows, [(0, end) for end in ends] + [(0, 0)] * (rows.ndim - len(ends)), constant_values=fill)


def nearest_rows(queries: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the K rows with the highest dot products with each query, exactly.

    Memory is limited: queries and rows are compared in blocks, so that the rows may be a memory-mapped file.

    Args:
        queries: (Q, D) float32.
        rows: (N, D) float32.
        k: the number of rows; fewer if there are fewer rows.

    Returns:
        the indices (Q, K) int64, best first, and their dot products (Q, K) float32.

    Example:
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], "float32")
        >>> nearest_rows(np.array([[0.0, 2.0]], "float32"), rows, k=2)[0].tolist()
        [[1, 2]]
    """
    k = min(k, len(rows))
    indices, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
    for first in range(0, len(queries), BLOCK_QUERIES):
        block = queries[first : first + BLOCK_QUERIES]
        best = np.zeros((len(block), 0), np.float32)
        found = np.zeros((len(block), 0), np.int64)
        for begin in range(0, len(rows), BLOCK_ROWS):
            products = block @ np.asarray(rows[begin : begin + BLOCK_ROWS]).T
            numbers = np.broadcast_to(np.arange(begin, begin + products.shape[1]), products.shape)
            best, found = np.concatenate([best, products], axis=1), np.concatenate([found, numbers], axis=1)
            top = np.argpartition(-best, min(k, best.shape[1]) - 1, axis=1)[:, :k]
            best, found = np.take_along_axis(best, top, axis=1), np.take_along_axis(found, top, axis=1)
        order = np.argsort(-best, axis=1, kind="stable")
        best, found = np.take_along_axis(best, order, axis=1), np.take_along_axis(found, order, axis=1)
        indices[first : first + len(block)], scores[first : first + len(block)] = found, best
    return indices, scores


def normalized(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors to length 1, (..., D); zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
