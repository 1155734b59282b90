"""Scaled dot-product attention."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    mask: Any = None,
    dropout: Callable[[Any], Any] | None = None,
) -> tuple[Any, Any]:
    """Answers, for every query, the mean of the values weighted by how well their keys match it.

    softmax(query key' / sqrt(K)) value, head by head. A query that may see no key at all gets a mean over keys that
    means nothing but is finite; its result is for the caller to ignore.

    Args:
        query: (B, H, T, K).
        key: (B, H, S, K).
        value: (B, H, S, K).
        mask: bool, broadcasts to (B, H, T, S), True where a query may see a key; None hides nothing.
        dropout: applied to the weights before they are used.

    Returns:
        the means (B, H, T, K) and the weights (B, H, T, S), each row of which sums to 1.

    Example:
        >>> x = keras.random.normal((2, 4, 5, 8))
        >>> means, weights = scaled_dot_product_attention(x, x, x)
        >>> means.shape
        TensorShape([2, 4, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", eq. 1.
    """
    # The query is scaled, not the scores: it is the smaller of the two, and sums in half precision stay small.
    query = query * ops.cast(query.shape[-1] ** -0.5, query.dtype)
    scores = ops.matmul(query, ops.swapaxes(key, -1, -2))  # (B, H, T, S)
    if mask is not None:
        scores = scores + _bias(mask, scores.dtype)
    weights = ops.softmax(scores, axis=-1)
    return ops.matmul(weights if dropout is None else dropout(weights), value), weights


def _bias(mask: Any, dtype: str) -> Any:
    # A large finite number: infinity would turn a row with nothing to see into NaN. Half of the smallest, so that
    # adding a score to it cannot overflow.
    lowest = -1e30 if keras.backend.standardize_dtype(dtype) != "float16" else -3e4
    return ops.where(mask, ops.cast(0.0, dtype), ops.cast(lowest, dtype))
