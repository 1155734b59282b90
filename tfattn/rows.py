"""Arrays of rows whose other axes are as wide as their longest row, joined and widened; samples of rows."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


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
