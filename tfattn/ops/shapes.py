"""Shapes that are not known before a graph runs."""

from typing import Any

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
