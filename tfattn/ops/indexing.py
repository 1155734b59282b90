"""Entries of rows, by their positions: the indices of gathers and scatters that no size overflows."""

from typing import Any

import keras
from keras import ops

# TensorFlow finds an entry by its number in the flattened tensor, in the type of the indices: int32 overflows at logits
# of 64 x 1,024 tokens over 50,304 words. JAX finds it by row and column, and has no 64-bit integers by default.
INDEX_DTYPE = "int64" if keras.backend.backend() == "tensorflow" else "int32"


def pick(x: Any, columns: Any) -> Any:
    """Gather from each row the entries at its columns: (B, C, ...) and (B, n) int -> (B, n, ...)."""
    batch, width = ops.shape(x)[:2]
    # One gather from all rows laid end to end costs a fraction of ops.take_along_axis, and so does its gradient.
    starts = ops.arange(batch, dtype=INDEX_DTYPE)[:, None] * ops.cast(width, INDEX_DTYPE)
    indices = starts + ops.cast(columns, INDEX_DTYPE)
    return ops.take(ops.reshape(x, (-1, *ops.shape(x)[2:])), indices, axis=0)


def cells(columns: Any) -> Any:
    """Return what `ops.scatter` and `ops.scatter_update` need to write one entry of each row: (N,) int -> (N, 2).

    Example:
        >>> cells(ops.convert_to_tensor([3, 1])).numpy().tolist()
        [[0, 3], [1, 1]]
    """
    rows = ops.arange(ops.shape(columns)[0], dtype=INDEX_DTYPE)
    return ops.stack([rows, ops.cast(columns, INDEX_DTYPE)], axis=1)
