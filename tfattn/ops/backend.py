"""Operations that differ between backends."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops


def inferred(x: Any) -> tuple[Any, ...]:
    """Return the shape of a tensor for `ops.reshape`, with few operations.

    If a single size is not static, it is -1, which reshaping infers: a graph then needs no operations that compute
    shapes. A token-by-token decoder would otherwise have such operations in each layer.

    Args:
        x: (B, ...).

    Example:
        >>> inferred(ops.ones((2, 3)))
        (2, 3)
    """
    shape = tuple(x.shape)
    # The size of an empty tensor cannot be inferred.
    is_inferable = shape.count(None) == 1 and 0 not in shape
    return tuple(-1 if size is None else size for size in shape) if is_inferable else tuple(ops.shape(x))


def embedding_lookup(table: keras.Variable, ids: Any) -> Any:
    """Gather rows of a table: (...) int -> (..., D).

    TensorFlow's variables gather rows without a copy of the table. `ops.take` copies it once its rows are updated in
    place, which dominates the cost with a million words. Variables that are mirrored on several devices have no
    `sparse_read`.

    Args:
        table: (V, D).
        ids: (...), from 0 to V - 1.
    """
    try:
        return table.value.sparse_read(ids)
    except AttributeError:  # mirrored variables, tensors in their place, and arrays of other backends
        # A flat list, as LiteRT takes it.
        rows = ops.take(table, ops.reshape(ids, (-1,)), axis=0)
        return ops.reshape(rows, (*inferred(ids), table.shape[-1]))


def scatter_add(x: Any, rows: Any, values: Any) -> Any:
    """Add values to rows of a tensor, in place where possible; for TensorFlow without XLA.

    Unlike `ops.scatter_update`, which always copies the tensor, it reuses the memory of a tensor without other readers.
    Rows of zeros, such as the free positions of a cache, are replaced by the values.

    Args:
        x: (N, K).
        rows: (n, 1) int, the indices of the rows.
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
    """Return the upstream gradient in a gradient function of `ops.custom_gradient`, which backends pass differently.

    Args:
        arguments: the positional arguments of the gradient function.
        upstream: its argument of that name, or None.
    """
    return arguments[0] if upstream is None else upstream
