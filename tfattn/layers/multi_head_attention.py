"""Multi-head self-attention."""

import math
from typing import Any

import keras
from keras import ops

from tfattn.layers.dropout import Dropout
from tfattn.layers.projection import Projection
from tfattn.ops import masks
from tfattn.ops.attention import scaled_dot_product_attention
from tfattn.ops.attention_record import Record
from tfattn.ops.backend import scatter_add
from tfattn.ops.positions import rotary


class MultiHeadAttention(keras.layers.Layer):
    """Multi-head self-attention, with a key/value cache for decoding.

    Query, key and value come from one fused projection. Its kernel's columns are the queries of all heads, then the
    keys, then the values.

    Masks: `attention_mask` (bool, broadcasts to (B, H, T, S)) is True where a query may see a key; causal layers hide
    the future besides. What is hidden changes nothing.

    A cache holds the keys and values of earlier steps, for decoding token by token: make one with `empty_cache`, pass
    it with the number of steps that it holds, and go on with the one that is returned. Where W sequences of a batch's
    row are written side by side (beams), x has B W rows, those of a row next to each other, and a query may see the
    caches of all W of them: when one beam continues another, nothing has to be moved, only the mask changes.

    Args:
        num_heads: H, a divisor of the width D.
        is_causal: whether position t sees only positions up to t.
        use_bias: whether the projections add a learned vector.
        dropout: the fraction of the attention weights that is dropped while training.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.

    Call arguments:
        x: (B, T, D), or (B W, T, D) with a cache of W sequences.
        attention_mask: as above; None hides nothing. With a cache of several sequences it is required, and broadcasts
            to (B, H, W T, W S); see `masks.continued`.
        cache: the keys and the values of up to S positions, each (B, H, W, S, K), with zeros from `cache_index` on.
        cache_index: how many positions the cache holds already, a scalar.
        positions: (T,) int, or (B, T) where rows differ, where x stands, for rotary positions: queries and keys are
            rotated by them, and keys are cached rotated. None rotates nothing.
        num_queries: T, if only the first T positions of x are wanted as queries; the others are then only keys.
        return_attention_scores: whether to return the attention weights too.
        record: told the attention weights, the queries and the keys, see `AttentionRecord`; None keeps none.

    Returns:
        (B, T, D). With a cache or attention weights a tuple: the output, then the new cache if one was given, then the
        attention weights (B, H, T, S) if asked for, with W sequences (B, H, W T, W S).

    Example:
        >>> layer = MultiHeadAttention(num_heads=2)
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", section 3.2.2.
    """

    def __init__(
        self,
        *,
        num_heads: int,
        is_causal: bool = False,
        use_bias: bool = True,
        dropout: float = 0.0,
        initializer_range: float | None = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.is_causal = is_causal
        self.use_bias = use_bias
        self.dropout = dropout
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        if width % self.num_heads:
            raise ValueError(f"num_heads: expected a divisor of the width {width}, received {self.num_heads}")
        common = {
            "use_bias": self.use_bias,
            "initializer_range": self.initializer_range,
            "dtype": self.dtype_policy,
        }
        self.qkv = Projection(units=(width,) * 3, name="qkv", **common)
        self.qkv.build(input_shape)
        self.weights_dropout = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.weights_dropout.build(input_shape)
        self.output_projection = Projection(units=width, name="output", **common)
        self.output_projection.build(input_shape)

    def empty_cache(self, batch_size: Any, num_steps: int, num_beams: int = 1) -> Any:
        """Make a cache for the keys and the values of `num_steps` positions: twice (B, H, W, S, K) zeros."""
        width = self.output_projection.units
        shape = (batch_size, self.num_heads, num_beams, num_steps, width // self.num_heads)
        return ops.zeros(shape, dtype=self.compute_dtype), ops.zeros(shape, dtype=self.compute_dtype)

    def call(
        self,
        x: Any,
        attention_mask: Any = None,
        cache: Any = None,
        cache_index: Any = 0,
        positions: Any = None,
        num_queries: int | None = None,
        return_attention_scores: bool = False,
        record: Record | None = None,
        training: bool = False,
    ) -> Any:
        rows, length, width = ops.shape(x)
        num_beams = 1 if cache is None else cache[0].shape[2]
        heads = (self.num_heads, width // self.num_heads)
        qkv = self.qkv(x)
        if cache is None:
            qkv = ops.transpose(ops.reshape(qkv, (rows, length, 3, *heads)), (2, 0, 3, 1, 4))  # (3, B, H, T, K)
        else:
            qkv = ops.reshape(qkv, (-1, num_beams, length, 3, *heads))
            qkv = ops.transpose(qkv, (3, 0, 4, 1, 2, 5))  # (3, B, H, W, T, K)
        query, key, value = ops.unstack(qkv, 3)
        if positions is not None:
            positions = ops.expand_dims(positions, -2)  # the same for all heads
            query, key = rotary(query, positions), rotary(key, positions)
        if cache is not None:
            cache = key, value = _put(cache[0], key, cache_index), _put(cache[1], value, cache_index)
            query, key, value = (_side_by_side(part) for part in (query, key, value))
        if num_queries is not None:
            query, length = query[:, :, :num_queries], num_queries
        if num_beams == 1 and (self.is_causal or cache is not None):
            future = masks.causal(length, ops.shape(key)[2], cache_index)
            attention_mask = masks.combine(attention_mask, future)
        dropout = (lambda weights: self.weights_dropout(weights, training=True)) if training and self.dropout else None
        heads, attention_weights = scaled_dot_product_attention(query, key, value, mask=attention_mask, dropout=dropout)
        if record is not None:
            record(attention_weights, query, key)
        heads = ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (rows, length, width))  # (B, H, W T, K) -> (B W, T, D)
        outputs = [self.output_projection(heads)]
        outputs += [cache] if cache is not None else []
        outputs += [attention_weights] if return_attention_scores else []
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _put(cache: Any, new: Any, at: Any) -> Any:
    """Write the T positions of `new` (B, H, W, T, K) into the cache (B, H, W, S, K), from position `at` on."""
    *others, length, width = ops.shape(new)
    steps = ops.shape(cache)[3]
    # Scattered as rows of one matrix: ops.slice_update is, on TensorFlow, a program of XLA, which exports refuse.
    rows = ops.arange(math.prod(others))[:, None] * steps + ops.cast(at, "int32") + ops.arange(length)
    # XLA knows all sizes beforehand; where the room grows there is none, and the zeros are filled where they lie.
    parts = ops.reshape(cache, (-1, width)), ops.reshape(rows, (-1, 1)), ops.reshape(new, (-1, width))
    flat = ops.scatter_update(*parts) if cache.shape[3] is not None else scatter_add(*parts)
    return ops.reshape(flat, ops.shape(cache))


def _side_by_side(x: Any) -> Any:
    """Lay the positions of all beams end to end: (B, H, W, T, K) -> (B, H, W T, K)."""
    return ops.reshape(x, (*ops.shape(x)[:2], -1, x.shape[-1]))
