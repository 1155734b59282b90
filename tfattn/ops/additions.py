"""Adding to a tensor where it lies."""

from typing import Any


def added_in_place(x: Any, rows: Any, values: Any) -> Any:
    """Add values to some rows of a tensor, in place where possible; for TensorFlow without XLA.

    Unlike `ops.scatter_update`, which copies the whole tensor each time, it takes the tensor over as it lies where
    nothing else still reads it. Rows of zeros, such as a cache has where it is to be filled, are so replaced.

    Args:
        x: (N, K).
        rows: (n, 1) int, which rows.
        values: (n, K).

    Returns:
        (N, K).

    Example:
        >>> added_in_place([[0.0, 0.0], [0.0, 0.0]], [[1]], [[1.0, 2.0]]).numpy().tolist()
        [[0.0, 0.0], [1.0, 2.0]]
    """
    import tensorflow as tf

    return tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=rows, updates=values)
