"""A row of numbers as a small square image."""

import math
from typing import Any

from keras import ops

OFFSET = 0.0001  # keeps a row's smallest number above the zeros around it


def side(num_numeric: int) -> int | None:
    """Return the side of the square of N numbers and two zeros, or None if it is not an even integer."""
    root = math.isqrt(num_numeric + 2)
    return root if root**2 == num_numeric + 2 and root % 2 == 0 else None


def feature_map(x: Any) -> Any:
    """Scale each row to its own range, pad it with a zero at both ends, and reshape it to a square image.

    The scaled values are (x - min) / (max - min) + 0.0001, with the minimum and maximum of the row; a constant row
    becomes 0.0001.

    Args:
        x: (B, N); N is 14, or another number that is 2 less than an even square.

    Returns:
        (B, side, side, 1).

    Example:
        >>> feature_map(ops.arange(14, dtype="float32")[None]).shape
        TensorShape([1, 4, 4, 1])
    """
    low, high = ops.min(x, axis=1, keepdims=True), ops.max(x, axis=1, keepdims=True)
    width = high - low
    scaled = (x - low) / ops.where(width > 0, width, ops.ones_like(width)) + OFFSET
    edge = side(x.shape[1])
    return ops.reshape(ops.pad(scaled, [[0, 0], [1, 1]]), (-1, edge, edge, 1))
