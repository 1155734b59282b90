"""Attention: scores of queries and keys, and weighted means of values.

Scaled dot-product attention over heads is a single function. Recurrent models have separate score functions for queries
and keys without heads, and `attend` computes weights and means from any scores; these compute in float32.
"""

import functools
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
    bias: Any = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    dropout: Callable[[Any], Any] | None = None,
) -> tuple[Any, Any]:
    """Compute softmax(scale query key' + bias) value for each head.

    A query that may see no key gets a finite but meaningless result, which the caller must ignore.

    Args:
        query: (B, H, T, K).
        key: (B, H, S, K).
        value: (B, H, S, K).
        mask: bool, broadcasts to (B, H, T, S), True where a query may see a key; None for no mask.
        bias: added to the scores, broadcasts to (B, H, T, S), such as the distances of ALiBi; None for no bias.
        scale: the factor of the products of queries and keys; None for 1 / sqrt(K).
        soft_cap: c, the bound of the scaled products, c tanh(products / c); None for no bound.
        dropout: applied to the attention weights before they are used; None for no dropout.

    Returns:
        the means (B, H, T, K) and the attention weights (B, H, T, S), whose rows sum to 1.

    Example:
        >>> x = keras.random.normal((2, 4, 5, 8))
        >>> means, weights = scaled_dot_product_attention(x, x, x)
        >>> means.shape
        TensorShape([2, 4, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", eq. 1; the soft cap: Gemma team 2024, "Gemma 2".
    """
    options = {"mask": mask, "bias": bias, "scale": scale, "soft_cap": soft_cap, "dropout": dropout}
    return attention_to_parts(query, [(key, value)], **options)


def attention_to_parts(
    query: Any,
    parts: Sequence[tuple[Any, Any]],
    *,
    mask: Any = None,
    bias: Any = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    dropout: Callable[[Any], Any] | None = None,
) -> tuple[Any, Any]:
    """Compute `scaled_dot_product_attention` for keys and values in several parts, without concatenating the parts.

    Args:
        query, bias, scale, soft_cap, dropout: as `scaled_dot_product_attention`.
        parts: keys and values (B, H, S, K) each, of different S.
        mask: as `scaled_dot_product_attention`, S being the total of all parts.

    Returns:
        as `scaled_dot_product_attention`.

    Example:
        >>> x = keras.random.normal((2, 4, 5, 8))
        >>> attention_to_parts(x, [(x, x), (x, x)], mask=ops.ones((5, 10), "bool"))[0].shape
        TensorShape([2, 4, 5, 8])
    """
    # The query is scaled instead of the scores: it is smaller, and sums in half precision do not overflow.
    query = query * ops.cast(query.shape[-1] ** -0.5 if scale is None else scale, query.dtype)
    scores = [ops.matmul(query, ops.swapaxes(key, -1, -2)) for key, _ in parts]
    scores = scores[0] if len(parts) == 1 else ops.concatenate(scores, axis=-1)  # (B, H, T, S)
    if soft_cap is not None:
        scores = ops.tanh(scores / soft_cap) * soft_cap
    if bias is not None:
        scores = scores + ops.cast(bias, scores.dtype)
    if mask is not None:
        hidden = _bias(mask, scores.dtype)
        if len(mask.shape) < 4 or mask.shape[0] == 1:
            # One bias for each row, even if all are equal: oneDNN's kernel for a shared bias is its slowest.
            hidden = hidden + ops.zeros((ops.shape(query)[0], 1, 1, 1), dtype=scores.dtype)
        scores = scores + hidden
    weights = ops.softmax(scores, axis=-1)
    used = weights if dropout is None else dropout(weights)
    if len(parts) == 1:
        return ops.matmul(used, parts[0][1]), weights
    means, start = 0.0, 0
    for key, value in parts:
        end = start + ops.shape(key)[2]
        means, start = means + ops.matmul(used[..., start:end], value), end
    return means, weights


def attention_with_biases(
    query: Any,
    parts: Sequence[tuple[Any, Any]],
    biases: Sequence[Any],
    *,
    scale: float | None = None,
    soft_cap: float | None = None,
) -> Any:
    """Compute the means of `attention_to_parts`, with a bias for each part instead of a mask.

    The scores of the parts are never concatenated, so that no slice depends on their lengths: LiteRT computes slices of
    unknown sizes outside of its fast kernels.

    Args:
        query, parts, scale, soft_cap: as `attention_to_parts`.
        biases: added to the scores of a part, broadcasts to (B, H, T, S); a large negative number hides a key. Each
            query must see a key.

    Returns:
        (B, H, T, K).

    Example:
        >>> x = keras.random.normal((1, 2, 3, 4))
        >>> attention_with_biases(x, [(x, x), (x, x)], [0.0, 0.0]).shape
        TensorShape([1, 2, 3, 4])
    """
    query = query * ops.cast(query.shape[-1] ** -0.5 if scale is None else scale, query.dtype)
    scores = [ops.matmul(query, ops.swapaxes(key, -1, -2)) for key, _ in parts]
    if soft_cap is not None:
        scores = [ops.tanh(part / soft_cap) * soft_cap for part in scores]
    scores = [part + bias for part, bias in zip(scores, biases, strict=True)]
    largest = functools.reduce(ops.maximum, [ops.max(part, axis=-1, keepdims=True) for part in scores])
    weights = [ops.exp(part - largest) for part in scores]
    means = sum(ops.matmul(part, value) for part, (_, value) in zip(weights, parts, strict=True))
    return means / sum(ops.sum(part, axis=-1, keepdims=True) for part in weights)


def dot_scores(query: Any, key: Any) -> Any:
    """Compute the dot products of queries and keys.

    Luong's "general" score, query' W key, is the dot product of queries and projected keys W key.

    Args:
        query: (B, W, D), W queries of each source.
        key: (B, S, D).

    Returns:
        (B, W, S) float32.

    Source: Luong et al. 2015, "Effective approaches to attention-based neural machine translation", section 3.1.
    """
    return ops.matmul(ops.cast(query, "float32"), ops.swapaxes(ops.cast(key, "float32"), 1, 2))


def additive_scores(query: Any, key: Any, vector: Any) -> Any:
    """Compute scores by a network with one hidden layer: vector' tanh(query + key).

    Queries and keys are already projected, W_a s and U_a h in the paper. Luong's "concat" score,
    vector' tanh(W [s; h]), is the same function, with W = [W_a, U_a].

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
    # expand_dims instead of slicing with None: the gradient of a slice is an additional array.
    hidden = ops.tanh(ops.expand_dims(query, 2) + ops.expand_dims(key, 1))  # (B, W, S, D)
    return ops.squeeze(ops.matmul(hidden, ops.expand_dims(vector, 1)), 3)


def attend(scores: Any, value: Any, padding_mask: Any = None) -> tuple[Any, Any]:
    """Compute for every query the mean of the values, weighted by the softmax of its scores.

    Args:
        scores: (B, W, S).
        value: (B, S, D).
        padding_mask: (B, S) bool, True at visible positions; None for no mask.

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
    # A large finite number: infinity would give NaN for a row without visible keys. Half of the smallest float16, so
    # that adding a score cannot overflow.
    lowest = -1e30 if keras.backend.standardize_dtype(dtype) != "float16" else -3e4
    return ops.where(mask, ops.cast(0.0, dtype), ops.cast(lowest, dtype))
