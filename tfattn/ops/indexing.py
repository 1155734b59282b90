"""Gathers and scatters of entries of rows, with indices that do not overflow."""

from typing import Any

import keras
from keras import ops

# TensorFlow computes the flat index of an entry in the type of the indices: int32 overflows at logits of 64 x 1,024
# tokens over 50,304 words. JAX indexes by row and column, and has no 64-bit integers by default.
INDEX_DTYPE = "int64" if keras.backend.backend() == "tensorflow" else "int32"


def pick(x: Any, columns: Any) -> Any:
    """Gather the entries of each row at its columns: (B, C, ...) and (B, n) int -> (B, n, ...)."""
    batch, width = ops.shape(x)[:2]
    # A gather from the flattened rows, and its gradient, cost a fraction of ops.take_along_axis.
    starts = ops.arange(batch, dtype=INDEX_DTYPE)[:, None] * ops.cast(width, INDEX_DTYPE)
    indices = starts + ops.cast(columns, INDEX_DTYPE)
    return ops.take(ops.reshape(x, (-1, *ops.shape(x)[2:])), indices, axis=0)


def cells(columns: Any) -> Any:
    """Return the indices for `ops.scatter` and `ops.scatter_update` of one entry in each row: (N,) int -> (N, 2).

    Example:
        >>> cells(ops.convert_to_tensor([3, 1])).numpy().tolist()
        [[0, 3], [1, 1]]
    """
    rows = ops.arange(ops.shape(columns)[0], dtype=INDEX_DTYPE)
    return ops.stack([rows, ops.cast(columns, INDEX_DTYPE)], axis=1)
