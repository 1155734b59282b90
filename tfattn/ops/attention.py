"""Attention: scores of queries and keys, and the means of values that they weight.

Scaled dot-product attention over heads is one function. The scores of recurrent models are functions of their own, for
queries and keys without heads, and `attend` makes weights and means of any of them; these compute in float32.
"""

from collections.abc import Callable, Sequence
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
    """Compute softmax(query key' / sqrt(K)) value for each head: for every query a weighted mean of the values.

    A query that may see no key at all gets a finite mean without meaning, which the caller has to ignore.

    Args:
        query: (B, H, T, K).
        key: (B, H, S, K).
        value: (B, H, S, K).
        mask: bool, broadcasts to (B, H, T, S), True where a query may see a key; None hides nothing.
        dropout: applied to the attention weights before they are used; None drops nothing.

    Returns:
        the means (B, H, T, K) and the attention weights (B, H, T, S), each row of which sums to 1.

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
        # A bias for each row, even where all have the same: oneDNN adds a shared one in its slowest kernel alone.
        rows = ops.zeros((ops.shape(query)[0], 1, 1, 1), dtype=scores.dtype)
        scores = scores + (_bias(mask, scores.dtype) + rows)
    weights = ops.softmax(scores, axis=-1)
    return ops.matmul(weights if dropout is None else dropout(weights), value), weights


def attention_to_parts(query: Any, parts: Sequence[tuple[Any, Any]], *, mask: Any) -> Any:
    """Compute softmax(query keys' / sqrt(K)) values, where keys and values lie in several parts.

    What `scaled_dot_product_attention` computes of the parts laid end to end, which would be a copy of all of them.

    Args:
        query: (B, H, T, K).
        parts: keys and values (B, H, S, K) each, of different S.
        mask: bool, broadcasts to (B, H, T, S), S of all parts together, True where a query may see a key.

    Returns:
        the means (B, H, T, K).

    Example:
        >>> x = keras.random.normal((2, 4, 5, 8))
        >>> attention_to_parts(x, [(x, x), (x, x)], mask=ops.ones((5, 10), "bool")).shape
        TensorShape([2, 4, 5, 8])
    """
    query = query * ops.cast(query.shape[-1] ** -0.5, query.dtype)
    scores = ops.concatenate([ops.matmul(query, ops.swapaxes(key, -1, -2)) for key, _ in parts], axis=-1)
    weights = ops.softmax(scores + _bias(mask, scores.dtype), axis=-1)
    means, begin = 0.0, 0
    for key, value in parts:
        end = begin + ops.shape(key)[2]
        means, begin = means + ops.matmul(weights[..., begin:end], value), end
    return means


def dot_scores(query: Any, key: Any) -> Any:
    """Score queries against keys by their dot products.

    Luong's "general" score, query' W key, is this one of queries and the projected keys W key.

    Args:
        query: (B, W, D), W queries of each source.
        key: (B, S, D).

    Returns:
        (B, W, S) float32.

    Source: Luong et al. 2015, "Effective approaches to attention-based neural machine translation", section 3.1.
    """
    return ops.matmul(ops.cast(query, "float32"), ops.swapaxes(ops.cast(key, "float32"), 1, 2))


def additive_scores(query: Any, key: Any, vector: Any) -> Any:
    """Score queries against keys by a network with one hidden layer: vector' tanh(query + key).

    Queries and keys come projected, W_a s and U_a h in the paper's words: keys once for all queries. Luong's "concat"
    score, vector' tanh(W [s; h]), is the same function, W being W_a and U_a side by side.

    Args:
        query: (B, W, D), W queries of each source.
        key: (B, S, D).
        vector: (D,).

    Returns:
        (B, W, S) float32.

    Source: Bahdanau et al. 2015, "Neural machine translation by jointly learning to align and translate", appendix
    A.1.2; Luong et al. 2015, section 3.1.
    """
    query, key, vector = (ops.cast(value, "float32") for value in (query, key, vector))
    # Axes are added by name, not by slicing with None: the gradient of a slice is an array of its own.
    hidden = ops.tanh(ops.expand_dims(query, 2) + ops.expand_dims(key, 1))  # (B, W, S, D)
    return ops.squeeze(ops.matmul(hidden, ops.expand_dims(vector, 1)), 3)


def attend(scores: Any, value: Any, padding_mask: Any = None) -> tuple[Any, Any]:
    """Return, for every query, the mean of the values weighted by the softmax of its scores.

    Args:
        scores: (B, W, S).
        value: (B, S, D).
        padding_mask: (B, S) bool, True at what may be seen; None hides nothing.

    Returns:
        the means (B, W, D) and the attention weights (B, W, S), both float32; each row of weights sums to 1.

    Example:
        >>> means, weights = attend(ops.zeros((2, 3, 5)), ops.ones((2, 5, 8)))
        >>> means.shape
        TensorShape([2, 3, 8])

    Source: Bahdanau et al. 2015, eq. 5 and 6.
    """
    scores = ops.cast(scores, "float32")
    if padding_mask is not None:
        scores = scores + _bias(ops.cast(padding_mask, "bool")[:, None], "float32")
    weights = ops.softmax(scores, axis=-1)
    return ops.matmul(weights, ops.cast(value, "float32")), weights


def _bias(mask: Any, dtype: str) -> Any:
    # A large finite number: infinity would turn a row with nothing to see into NaN. Half of the smallest, so that
    # adding a score to it cannot overflow.
    lowest = -1e30 if keras.backend.standardize_dtype(dtype) != "float16" else -3e4
    return ops.where(mask, ops.cast(0.0, dtype), ops.cast(lowest, dtype))
