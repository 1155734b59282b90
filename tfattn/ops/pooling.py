"""One vector for a whole sequence, without weights."""

from typing import Any

from keras import ops


def first(x: Any) -> Any:
    """Return the vector of the first token, [CLS]: (B, T, D) -> (B, D)."""
    return x[:, 0]


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
