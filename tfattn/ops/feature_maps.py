"""A row of numbers as a small square image."""

import math
from typing import Any

from keras import ops

LIFT = 0.0001  # the least of a row's numbers stays above the zeros around it


def side(num_numeric: int) -> int | None:
    """Return the side of the square that N numbers and two zeros fill, or None if it is not a whole, even number."""
    root = math.isqrt(num_numeric + 2)
    return root if root**2 == num_numeric + 2 and root % 2 == 0 else None


def feature_map(x: Any) -> Any:
    """Scale each row to its own range, put a zero before and after it, and arrange it as a square image, row by row.

    (x - min) / (max - min) + 0.0001, minimum and maximum being those of the row; of a row whose numbers are all the
    same every number becomes 0.0001.

    Args:
        x: (B, N); N is 14, or another number that is 2 short of an even square.

    Returns:
        (B, side, side, 1).

    Example:
        >>> feature_map(ops.arange(14, dtype="float32")[None]).shape
        TensorShape([1, 4, 4, 1])
    """
    low, high = ops.min(x, axis=1, keepdims=True), ops.max(x, axis=1, keepdims=True)
    width = high - low
    scaled = (x - low) / ops.where(width > 0, width, ops.ones_like(width)) + LIFT
    edge = side(x.shape[1])
    return ops.reshape(ops.pad(scaled, [[0, 0], [1, 1]]), (-1, edge, edge, 1))
