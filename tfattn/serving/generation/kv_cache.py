"""The KV cache of running sequences, and the prefix cache of earlier sequences."""

import math
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

ALIGNMENT = 64  # bytes; TensorFlow copies an array with another alignment at each step
MIN_CAPACITY = 64  # positions
MAX_PREFIXES = 256  # a lookup compares a prompt with each of them


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Create an array of zeros that TensorFlow reads without a copy.

    Args:
        shape: its shape.
        dtype: its type.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


class Layout(NamedTuple):
    """The shape of a position: keys and values of L layers and G heads of width K."""

    num_layers: int
    num_groups: int
    head_dim: int
    dtype: np.dtype


class KVCache:
    """Keys and values (L, 2, R, G, S, K) of R rows with a capacity of S positions each.

    Unwritten entries are zero and never NaN: attention multiplies masked entries by 0.

    Args:
        layout: of a position.
        rows: R.
        capacity: S.

    Attributes:
        array: the input of the model.
    """

    def __init__(self, layout: Layout, *, rows: int = 1, capacity: int = MIN_CAPACITY):
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
        """Change the number of rows and the capacity, and keep the entries that fit."""
        before, self.array = self.array, self._empty(rows, capacity)
        rows, capacity = min(rows, before.shape[2]), min(capacity, before.shape[4])
        self.array[:, :, :rows, :, :capacity] = before[:, :, :rows, :, :capacity]

    def write(self, row: int, start: int, keys_values: np.ndarray) -> None:
        """Write keys and values (L, 2, G, T, K) to a row, from position `start` on."""
        self.array[:, :, row, :, start : start + keys_values.shape[3]] = keys_values

    def read(self, row: int, length: int) -> np.ndarray:
        """Return a view (L, 2, G, length, K) of the first positions of a row."""
        return self.array[:, :, row, :, :length]

    def row(self, row: int) -> "KVCache":
        """Return a copy of a row as the cache of a batch of 1."""
        copy = KVCache(self.layout, capacity=self.capacity)
        copy.array[:] = self.array[:, :, row : row + 1]
        return copy

    def _empty(self, rows: int, capacity: int) -> np.ndarray:
        num_layers, num_groups, head_dim, dtype = self.layout
        return aligned((num_layers, 2, rows, num_groups, capacity, head_dim), dtype)


class PrefixCache:
    """Keys and values of earlier sequences, for prompts with a common prefix. It drops the least recently used entry.

    Args:
        max_bytes: the most bytes of keys and values; 0 disables the cache.
    """

    def __init__(self, max_bytes: int):
        self._max_bytes = max_bytes
        self._entries: OrderedDict[int, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        self._bytes = 0
        self._next_key = 0

    def add(self, token_ids: np.ndarray, keys_values: np.ndarray) -> None:
        """Add a sequence, unless an entry starts with it. Entries that it starts with are dropped.

        Args:
            token_ids: (S,) of the sequence.
            keys_values: (L, 2, G, S, K), which are copied.
        """
        if not len(token_ids) or keys_values.nbytes > self._max_bytes:
            return
        for key, (known, _) in list(self._entries.items()):
            length = common_length(known, token_ids)
            if length == len(token_ids):
                self._entries.move_to_end(key)
                return
            if length == len(known):
                self._drop(key)
        self._next_key += 1
        self._entries[self._next_key] = token_ids.copy(), np.array(keys_values, order="C")
        self._bytes += keys_values.nbytes
        while self._bytes > self._max_bytes or len(self._entries) > MAX_PREFIXES:
            self._drop(next(iter(self._entries)))

    def longest(self, token_ids: np.ndarray) -> tuple[int, np.ndarray | None]:
        """Find the entry with the longest common prefix.

        Returns:
            the length of the common prefix, and the keys and values (L, 2, G, S, K) of the whole entry, or None.
        """
        best = max(self._entries, key=lambda key: common_length(self._entries[key][0], token_ids), default=None)
        if best is None:
            return 0, None
        known, keys_values = self._entries[best]
        if length := common_length(known, token_ids):
            self._entries.move_to_end(best)
        return length, keys_values

    def _drop(self, key: int) -> None:
        self._bytes -= self._entries.pop(key)[1].nbytes


def common_length(first: np.ndarray, second: np.ndarray) -> int:
    """Return the length of the common prefix of two token sequences."""
    length = min(len(first), len(second))
    differs = first[:length] != second[:length]
    return int(differs.argmax()) if differs.any() else length


def padded_size(count: int, *, least: int, most: int) -> int:
    """Return the smallest size of least, 2 least, 4 least, ... that holds `count`, and `most` at most.

    Sizes that double keep the number of resizes and of input shapes small.

    Example:
        >>> [padded_size(count, least=64, most=200) for count in (1, 65, 129)]
        [64, 128, 200]
    """
    doubled = least * 2 ** max(0, math.ceil(math.log2(max(1, count) / least)))
    return min(doubled, most)
