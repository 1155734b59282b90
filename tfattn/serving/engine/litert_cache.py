"""The key/value cache of a LiteRT language model, whose memory is that of the interpreter's inputs."""

from typing import Any

import numpy as np

from tfattn.serving.generation.kv_cache import MIN_CAPACITY, Layout


class LiteRtCache:
    """Keys and values of R rows, in two arrays (R, G, S, K) for each layer; used as `KVCache`.

    LiteRT never overwrites the memory of inputs. While a graph computes with a cache, its arrays are views of this
    memory, and a step copies nothing but the new keys and values.

    Args:
        layout: of a position.
        rows: R.
        capacity: S.

    Attributes:
        arrays: keys and values of each layer, in turn.
        array: the input `past` of the engine: the cache itself.
    """

    def __init__(self, layout: Layout, *, rows: int = 1, capacity: int = MIN_CAPACITY):
        self.layout = layout
        self.arrays = self._empty(rows, capacity)

    @property
    def array(self) -> Any:
        return self

    @property
    def rows(self) -> int:
        """R."""
        return self.arrays[0].shape[0]

    @property
    def capacity(self) -> int:
        """S."""
        return self.arrays[0].shape[2]

    def resize(self, rows: int, capacity: int) -> None:
        """Change the number of rows and the capacity, and keep the entries that fit."""
        before, self.arrays = self.arrays, self._empty(rows, capacity)
        rows, capacity = min(rows, before[0].shape[0]), min(capacity, before[0].shape[2])
        for array, old in zip(self.arrays, before, strict=True):
            array[:rows, :, :capacity] = old[:rows, :, :capacity]

    def write(self, row: int, start: int, keys_values: np.ndarray) -> None:
        """Write keys and values (L, 2, G, T, K) to a row, from position `start` on."""
        end = start + keys_values.shape[3]
        pairs = keys_values.reshape(len(self.arrays), *keys_values.shape[2:])
        for array, values in zip(self.arrays, pairs, strict=True):
            array[row, :, start:end] = values

    def read(self, row: int, length: int) -> np.ndarray:
        """Return a copy (L, 2, G, length, K) of the first positions of a row."""
        num_layers, num_groups, head_dim, _ = self.layout
        found = np.stack([array[row, :, :length] for array in self.arrays])
        return found.reshape(num_layers, 2, num_groups, length, head_dim)

    def row(self, row: int) -> "LiteRtCache":
        """Return a copy of a row as the cache of a batch of 1."""
        copy = LiteRtCache(self.layout, capacity=self.capacity)
        for array, values in zip(copy.arrays, self.arrays, strict=True):
            array[:] = values[row : row + 1]
        return copy

    def _empty(self, rows: int, capacity: int) -> list[np.ndarray]:
        num_layers, num_groups, head_dim, dtype = self.layout
        return [np.zeros((rows, num_groups, capacity, head_dim), dtype) for _ in range(2 * num_layers)]
