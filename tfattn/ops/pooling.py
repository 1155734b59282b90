"""Vectors of a sequence, or one for all of it, without weights."""

from typing import Any, Literal

from keras import ops


def first(x: Any) -> Any:
    """Return the vector of the first token, [CLS]: (B, T, D) -> (B, D)."""
    return x[:, 0]


def leading(x: Any, count: int) -> Any:
    """Return the vectors of the first tokens: (..., T, D) -> (..., count, D)."""
    return ops.split(x, [count], axis=-2)[0]  # its gradient is written at once, that of a slice element by element


def mean(x: Any, padding_mask: Any = None) -> Any:
    """Return the mean vector of the real tokens, in float32: (B, T, D) -> (B, D).

    Args:
        x: (B, T, D).
        padding_mask: (B, T), True (or not 0) at real tokens, which alone count; None stands for all.

    Returns:
        (B, D) float32; zeros for a row that holds no real token.
    """
    x = ops.cast(x, "float32")
    if padding_mask is None:
        return ops.mean(x, axis=1)
    real = ops.cast(ops.cast(padding_mask, "bool"), "float32")
    total = ops.matmul(real[:, None, :], x)[:, 0]  # (B, 1, T) x (B, T, D) -> (B, D)
    return total / ops.maximum(ops.sum(real, axis=1, keepdims=True), 1.0)


def largest(x: Any, mask: Any) -> Any:
    """Return the largest number of each column at the places of a mask: (B, T, D) and (B, T) bool -> (B, D).

    Returns:
        (B, D), in the type of x; zeros for a row in which the mask has no place.
    """
    mask = ops.cast(mask, "bool")[..., None]
    found = ops.max(ops.where(mask, x, ops.cast(-1e4, x.dtype)), axis=1)
    return ops.where(ops.any(mask, axis=1), found, ops.zeros_like(found))


def pooled(x: Any, padding_mask: Any = None, *, by: Literal["cls", "mean"]) -> Any:
    """Return one vector of each sequence, in float32: the first token's, or the mean: (B, T, D) -> (B, D)."""
    return ops.cast(first(x), "float32") if by == "cls" else mean(x, padding_mask)
