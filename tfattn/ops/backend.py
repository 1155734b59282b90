"""Operations that backends do in different ways, or at different speeds."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops


def inferred(x: Any) -> tuple[Any, ...]:
    """Return the shape of a tensor as `ops.reshape` takes it, with few operations.

    Where the first size alone is unknown beforehand, it is -1, which reshaping finds out: a graph then needs no
    operations that compute shapes. A decoder that reads one token after the other else has them in each of its layers.

    Args:
        x: (B, ...).

    Example:
        >>> inferred(ops.ones((2, 3)))
        (2, 3)
    """
    first, *others = x.shape
    # Of an empty tensor no size can be found out.
    return (-1, *others) if first is None and all(others) else tuple(ops.shape(x))


def embedding_lookup(table: keras.Variable, ids: Any) -> Any:
    """Return rows of a table: (...) int -> (..., D).

    TensorFlow's variables gather them without a copy of the table, which `ops.take` makes once rows of it are changed
    in place: with a million words, that copy takes longer than all else. Variables that are mirrored on several devices
    cannot.

    Args:
        table: (V, D).
        ids: (...), from 0 to V - 1.
    """
    try:
        return table.value.sparse_read(ids)
    except AttributeError:  # which mirrored variables raise on purpose, and other backends' arrays
        return ops.take(table, ids, axis=0)


def scatter_add(x: Any, rows: Any, values: Any) -> Any:
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
        >>> scatter_add([[0.0, 0.0], [0.0, 0.0]], [[1]], [[1.0, 2.0]]).numpy().tolist()
        [[0.0, 0.0], [1.0, 2.0]]
    """
    import tensorflow as tf

    return tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=rows, updates=values)


def upstream_gradient(arguments: Sequence[Any], upstream: Any) -> Any:
    """Return the gradient of what a function of `ops.custom_gradient` returned: backends differ in how they give it.

    Args:
        arguments: which the function of the gradient got; and
        upstream: its argument of that name, None where it got none.
    """
    return arguments[0] if upstream is None else upstream
