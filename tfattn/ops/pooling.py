"""Pooling of vectors, without weights."""

from typing import Any, Literal

from keras import ops


def first(x: Any) -> Any:
    """Return the vector of the first token, [CLS]: (B, T, D) -> (B, D)."""
    return x[:, 0]


def leading(x: Any, count: int) -> Any:
    """Return the vectors of the first tokens: (..., T, D) -> (..., count, D)."""
    if x.shape[-2] is None:
        return x[..., :count, :]
    return ops.split(x, [count], axis=-2)[0]  # the gradient of a split is one copy, that of a slice is scattered


def mean(x: Any, padding_mask: Any = None) -> Any:
    """Compute the mean vector of the real tokens, in float32: (B, T, D) -> (B, D).

    Args:
        x: (B, T, D).
        padding_mask: (B, T), True (or not 0) at real tokens; None if all are real.

    Returns:
        (B, D) float32; zeros for a row without real tokens.
    """
    x = ops.cast(x, "float32")
    if padding_mask is None:
        return ops.mean(x, axis=1)
    real = ops.cast(ops.cast(padding_mask, "bool"), "float32")
    total = ops.matmul(real[:, None, :], x)[:, 0]  # (B, 1, T) x (B, T, D) -> (B, D)
    return total / ops.maximum(ops.sum(real, axis=1, keepdims=True), 1.0)


def largest(x: Any, mask: Any) -> Any:
    """Compute the maximum of each component over the positions of a mask: (B, T, D) and (B, T) bool -> (B, D).

    Returns:
        (B, D), in the type of x; zeros for a row without positions.
    """
    mask = ops.cast(mask, "bool")[..., None]
    found = ops.max(ops.where(mask, x, ops.cast(-1e4, x.dtype)), axis=1)
    return ops.where(ops.any(mask, axis=1), found, ops.zeros_like(found))


def pooled(x: Any, padding_mask: Any = None, *, by: Literal["cls", "mean", "max"]) -> Any:
    """Pool each sequence into one vector, in float32: (B, T, D) -> (B, D).

    Args:
        x: (B, T, D).
        padding_mask: (B, T), True (or not 0) at real tokens; None if all are real.
        by: the vector of the first token, the mean of all tokens, or the maximum of each component.
    """
    if by == "mean":
        return mean(x, padding_mask)
    x = ops.cast(x, "float32")
    if by == "cls":
        return first(x)
    return largest(x, ops.ones(ops.shape(x)[:2], "bool") if padding_mask is None else padding_mask)


def mean_by_row(x: Any, rows: Any, num_rows: Any) -> Any:
    """Compute the mean of the elements of each row, in float32.

    Args:
        x: (E, ...).
        rows: (E,) int, ascending, the row of each element.
        num_rows: B.

    Returns:
        (B, ...) float32; zeros for rows without elements.

    Example:
        >>> mean_by_row(ops.array([1.0, 3.0, 5.0]), ops.array([0, 0, 1]), 2)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 5.], dtype=float32)>
    """
    x = ops.cast(x, "float32")
    counts = ops.segment_sum(ops.ones_like(x), rows, num_segments=num_rows)
    return ops.segment_sum(x, rows, num_segments=num_rows) / ops.maximum(counts, 1.0)
