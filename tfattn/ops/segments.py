"""Rows that several elements belong to."""

from typing import Any

from keras import ops


def mean_by_row(x: Any, rows: Any, num_rows: Any) -> Any:
    """Return the mean of the elements of each row, in float32.

    Args:
        x: (E, ...).
        rows: (E,) int, rising, to which row each element belongs.
        num_rows: B.

    Returns:
        (B, ...) float32; zeros for a row without elements.

    Example:
        >>> mean_by_row(ops.array([1.0, 3.0, 5.0]), ops.array([0, 0, 1]), 2)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 5.], dtype=float32)>
    """
    x = ops.cast(x, "float32")
    counts = ops.segment_sum(ops.ones_like(x), rows, num_segments=num_rows)
    return ops.segment_sum(x, rows, num_segments=num_rows) / ops.maximum(counts, 1.0)
