"""The keys and values of the texts that are written, in one array that TensorFlow reads where it lies."""

import math
from typing import NamedTuple

import numpy as np

ALIGNMENT = 64  # bytes; an array that begins elsewhere TensorFlow copies at each step
LEAST_CAPACITY = 64  # positions


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Make an array of zeros whose data begin where TensorFlow wants them.

    Args:
        shape: its shape.
        dtype: its type.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


class Layout(NamedTuple):
    """The shape of a position: keys and values of L layers, G heads of width K."""

    num_layers: int
    num_groups: int
    head_dim: int
    dtype: np.dtype

    @property
    def position_bytes(self) -> int:
        """How many bytes a position of a text takes."""
        return 2 * self.num_layers * self.num_groups * self.head_dim * self.dtype.itemsize


class Cache:
    """Keys and values (L, 2, R, G, S, K) of R rows with room for S positions each.

    It is zero where nothing was written, and never not a number: what is masked is multiplied with 0.

    Args:
        layout: of a position.
        rows: R.
        capacity: S.

    Attributes:
        array: what is fed to TensorFlow.
    """

    def __init__(self, layout: Layout, *, rows: int = 1, capacity: int = LEAST_CAPACITY):
        self.layout = layout
        self.array = self._empty(rows, capacity)

    @property
    def rows(self) -> int:
        """R."""
        return self.array.shape[2]

    @property
    def capacity(self) -> int:
        """S."""
        return self.array.shape[4]

    def resize(self, rows: int, capacity: int) -> None:
        """Change the room for rows and positions; what stands in both stays."""
        before, self.array = self.array, self._empty(rows, capacity)
        rows, capacity = min(rows, before.shape[2]), min(capacity, before.shape[4])
        self.array[:, :, :rows, :, :capacity] = before[:, :, :rows, :, :capacity]

    def write(self, row: int, start: int, keys_values: np.ndarray) -> None:
        """Write keys and values (L, 2, G, T, K) of a row, from a position on."""
        self.array[:, :, row, :, start : start + keys_values.shape[3]] = keys_values

    def read(self, row: int, length: int) -> np.ndarray:
        """Return the keys and values (L, 2, G, length, K) of the first positions of a row, where they lie."""
        return self.array[:, :, row, :, :length]

    def row(self, row: int) -> np.ndarray:
        """Return a copy of a row as a cache of its own (L, 2, 1, G, S, K)."""
        copy = self._empty(1, self.capacity)
        copy[:] = self.array[:, :, row : row + 1]
        return copy

    def _empty(self, rows: int, capacity: int) -> np.ndarray:
        num_layers, num_groups, head_dim, dtype = self.layout
        return aligned((num_layers, 2, rows, num_groups, capacity, head_dim), dtype)


def room(count: int, *, least: int, most: int) -> int:
    """Return the smallest of least, 2 least, 4 least ..., and most, that has room for `count`.

    Example:
        >>> [room(count, least=64, most=200) for count in (1, 65, 129)]
        [64, 128, 200]
    """
    doubled = least * 2 ** max(0, math.ceil(math.log2(max(1, count) / least)))
    return min(doubled, most)
