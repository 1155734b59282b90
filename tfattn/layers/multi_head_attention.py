"""Multi-head attention."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
from keras import ops

from tfattn.layers.dropout import Dropout
from tfattn.layers.key_value_cache import BeamCache, GrowingCache
from tfattn.layers.normalization import RmsNormalization
from tfattn.layers.projection import Projection
from tfattn.ops import masks
from tfattn.ops.attention import attention_to_parts, attention_with_biases
from tfattn.ops.attention_record import Record
from tfattn.ops.backend import inferred
from tfattn.ops.pooling import leading
from tfattn.ops.positions import BASE, rotary


class MultiHeadAttention(keras.layers.Layer):
    """Self-attention with H query heads, in G groups that share keys and values.

    Query, key and value are computed by one fused projection. The columns of its kernel are the queries of all heads,
    group by group, then the keys of all groups, then the values.

    Masks: `attention_mask` (bool, broadcasts to (B, 1, T, S)) is True where a query may see a key; causal layers also
    hide later positions. Hidden positions never change the output.

    With a cache, queries also see the keys and values of earlier steps, so that texts are decoded token by token
    without recomputation. Keys are cached after their rotation.

    Args:
        num_heads: H, a divisor of the width D if there is no `head_dim`.
        num_groups: G, a divisor of H; 1 is multi-query attention. By default H.
        head_dim: K, the width of a head; by default D / H.
        is_causal: whether position t sees only positions up to t, without a cache.
        rotary_base: the base of the rotary angles of `positions`; None for no rotation.
        rotary_rates: other angles, see `rotary`; None for the angles of the base.
        qk_norm: whether each query and each key is divided by its root mean square, and scaled.
        scale: the factor of the products of queries and keys; None for 1 / sqrt(K).
        soft_cap: c, the bound of the scaled products, c tanh(products / c); None for no bound.
        use_bias: whether the projections add a learned vector.
        output_bias: whether the output projection adds a learned vector; by default `use_bias`.
        dropout: the fraction of the attention weights that is dropped in training.
        epsilon: the epsilon of the normalization of queries and keys.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.
        output_range: the standard deviation of the output kernel; by default `initializer_range`.

    Call arguments:
        x: (B, T, D); with a `BeamCache` of W beams (B W, T, D), the beams of a row next to each other.
        attention_mask: as above; None for no mask. With a cache it is required, and S counts the cached keys, then the
            new keys; for a `BeamCache` it broadcasts to (B, 1, W T, W S), see `masks.continued`. For a `GrowingCache`
            it may be a tuple of biases, one for each part of the keys, see `attention_with_biases`.
        attention_bias: added to the scores, broadcasts to (B, H, T, S) if G is H; None for no bias. Or a function that
            computes the bias, `bias(query, key, project)`, from the queries (B, H, T, K) and keys (B, H, S, K) of this
            layer; `project` maps vectors (B, L, D) to queries and keys (B, H, L, K) by the weights of this layer.
        positions: (T,) or (B, T) int, the position of each vector of x, for rotary positions; None for no rotation.
        cache: a `GrowingCache` or a `BeamCache`.
        num_queries: T, if only the first T of S positions are queries; the others are keys alone.
        return_attention_scores: whether to also return the attention weights; not with a `GrowingCache`.
        record: called with the attention weights and, without a bias or a soft cap, the queries and keys of all H
            heads, see `AttentionRecord`.

    Returns:
        (B, T, D). With a cache or attention weights a tuple: the output, the new cache if a cache was given, and the
        attention weights (B, H, T, S) if requested.

    Raises:
        ValueError: num_heads does not divide the width, and there is no `head_dim`.

    Example:
        >>> layer = MultiHeadAttention(num_heads=4, num_groups=2)
        >>> layer(keras.random.normal((1, 5, 8)), attention_mask=ops.tri(5, dtype="bool")).shape
        TensorShape([1, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", section 3.2.2; groups: Ainslie et al. 2023, "GQA";
    qk_norm: Henry et al. 2020, "Query-key normalization for Transformers", with the root mean square and learned scales
    instead of a length of 1; the soft cap: Gemma team 2024, "Gemma 2".
    """

    def __init__(
        self,
        *,
        num_heads: int,
        num_groups: int | None = None,
        head_dim: int | None = None,
        is_causal: bool = False,
        rotary_base: float | None = BASE,
        rotary_rates: Sequence[float] | None = None,
        qk_norm: bool = False,
        scale: float | None = None,
        soft_cap: float | None = None,
        use_bias: bool = True,
        output_bias: bool | None = None,
        dropout: float = 0.0,
        epsilon: float = 1e-6,
        initializer_range: float | None = 0.02,
        output_range: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.num_groups = num_groups or num_heads
        self.head_dim = head_dim
        self.is_causal = is_causal
        self.rotary_base = rotary_base
        self.rotary_rates = rotary_rates
        self.qk_norm = qk_norm
        self.scale = scale
        self.soft_cap = soft_cap
        self.use_bias = use_bias
        self.output_bias = use_bias if output_bias is None else output_bias
        self.dropout = dropout
        self.epsilon = epsilon
        self.initializer_range = initializer_range
        self.output_range = initializer_range if output_range is None else output_range

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        if self.head_dim is None and width % self.num_heads:
            raise ValueError(f"num_heads: expected a divisor of the width {width}, received {self.num_heads}")
        self.head_dim = self.head_dim or width // self.num_heads
        policy = {"dtype": self.dtype_policy}
        wide, narrow = self.head_dim * self.num_heads, self.head_dim * self.num_groups
        self.qkv = Projection(
            units=(wide, narrow, narrow),
            use_bias=self.use_bias,
            initializer_range=self.initializer_range,
            targets=("query", "key", "value"),
            name="qkv",
            **policy,
        )
        self.qkv.build(input_shape)
        self.norms = [
            RmsNormalization(epsilon=self.epsilon, name=f"{part}_norm", **policy)
            for part in (("query", "key") if self.qk_norm else ())
        ]
        for norm in self.norms:
            norm.build((None, None, None, self.head_dim))
        self.weights_dropout = Dropout(self.dropout, name="dropout", **policy)
        self.weights_dropout.build(input_shape)
        self.output_projection = Projection(
            units=width,
            use_bias=self.output_bias,
            initializer_range=self.output_range,
            targets=("attention_output",),
            name="output",
            **policy,
        )
        self.output_projection.build((*input_shape[:-1], wide))

    def empty_beams(self, batch_size: Any, num_steps: int, num_beams: int = 1) -> BeamCache:
        """Make a cache for `num_steps` positions of `num_beams` beams for each row."""
        shape = (batch_size, self.num_groups, num_beams, num_steps, self.head_dim)
        keys, values = (ops.zeros(shape, dtype=self.compute_dtype) for _ in range(2))
        return BeamCache(keys, values, ops.zeros((), dtype="int32"))

    def call(
        self,
        x: Any,
        attention_mask: Any = None,
        attention_bias: Any | Callable[[Any, Any, Callable], Any] = None,
        positions: Any = None,
        cache: GrowingCache | BeamCache | None = None,
        num_queries: int | None = None,
        return_attention_scores: bool = False,
        record: Record | None = None,
        training: bool = False,
    ) -> Any:
        rows, length, _ = inferred(x)
        beams, num_beams = ((), 1) if cache is None else (cache.beams, math.prod(cache.beams))
        batch = -1 if beams else rows
        query, key, value = self._heads(x, (batch, *beams, length), positions)
        if num_queries is not None:
            query, length = leading(query, num_queries), num_queries
        if callable(attention_bias):
            attention_bias = attention_bias(query, key, self._project)
        # The queries of a group are concatenated: (B, H, T, K) or (B, H, W, T, K) -> (B, G, H / G W T, K).
        query = ops.reshape(query, (batch, self.num_groups, _times(self._shared * num_beams, length), self.head_dim))
        if cache is not None:
            cache = cache.extended(key, value)
        elif self.is_causal:
            attention_mask = masks.combine(attention_mask, masks.causal(length, ops.shape(key)[2]))
        options = {"scale": self.scale, "soft_cap": self.soft_cap}
        if isinstance(attention_mask, tuple):
            biases = [self._repeat_mask(bias) for bias in attention_mask]
            means, weights = attention_with_biases(query, cache.parts, biases, **options), None
        else:
            means, weights = attention_to_parts(
                query,
                [(key, value)] if cache is None else cache.parts,
                mask=self._repeat_mask(attention_mask),
                bias=attention_bias,
                dropout=partial(self.weights_dropout, training=True) if training and self.dropout else None,
                **options,
            )
        if record is not None:
            # With a bias or a cap, queries and keys alone do not determine the weights.
            is_product = attention_bias is None and self.soft_cap is None
            vectors = (self._split_groups(query), ops.repeat(key, self._shared, axis=1)) if is_product else ()
            record(self._split_groups(weights), *vectors, values=ops.repeat(value, self._shared, axis=1))
        means = ops.reshape(means, (batch, self.num_heads, _times(num_beams, length), self.head_dim))
        means = ops.transpose(means, (0, 2, 1, 3))  # (B, H, W T, K) -> (B W, T, H K)
        means = ops.reshape(means, (rows, length, self.num_heads * self.head_dim))
        outputs = [self.output_projection(means)]
        outputs += [] if cache is None else [cache]
        outputs += [self._split_groups(weights)] if return_attention_scores else []
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _heads(self, x: Any, shape: tuple, positions: Any) -> Sequence[Any]:
        """Return queries (B, H, ..., S, K), and keys and values (B, G, ..., S, K), for x of the shape (B, ..., S)."""
        rotates = self.rotary_base is not None and positions is not None
        inner = range(1, len(shape))
        if self._shared == 1 and not self.norms and not rotates:
            # Equal contiguous parts are split without a copy.
            heads = ops.reshape(self.qkv(x), (*shape, 3, self.num_heads, self.head_dim))
            axes = (len(shape), 0, len(shape) + 1, *inner, len(shape) + 2)
            return ops.unstack(ops.transpose(heads, axes), 3)
        heads = ops.reshape(self.qkv(x), (*shape, self.num_heads + 2 * self.num_groups, self.head_dim))
        heads = ops.transpose(heads, (0, len(shape), *inner, len(shape) + 1))  # (B, H + 2 G, ..., S, K)
        # Split, not sliced: the gradient of each slice is an array of the whole size, the gradient of a split one copy.
        turned, value = ops.split(heads, (self.num_heads + self.num_groups,), axis=1)
        if self.norms:
            parts = ops.split(turned, (self.num_heads,), axis=1)
            turned = ops.concatenate([norm(x) for norm, x in zip(self.norms, parts, strict=True)], axis=1)
        if rotates:
            options = {"base": self.rotary_base, "rates": self.rotary_rates}
            turned = rotary(turned, ops.expand_dims(positions, -2), **options)  # the same for all heads
        query, key = ops.split(turned, (self.num_heads,), axis=1)
        return query, key, value

    def _project(self, x: Any) -> tuple[Any, Any]:
        """Map vectors (B, L, D) to queries (B, H, L, K) and keys (B, G, L, K)."""
        query, key, _ = self._heads(x, inferred(x)[:2], positions=None)
        return query, key

    @property
    def _shared(self) -> int:
        """Return the number of heads that share keys and values."""
        return self.num_heads // self.num_groups

    def _split_groups(self, x: Any) -> Any:
        """Split groups into heads: (B, G, H / G T, ...) to (B, H, T, ...)."""
        if self._shared == 1:
            return x
        rows, _, _, width = ops.shape(x)
        return ops.reshape(x, (rows, self.num_heads, -1, width))

    def _repeat_mask(self, mask: Any) -> Any:
        """Repeat a mask for all heads of a group: (..., T, S) to (..., H / G T, S)."""
        is_for_all = mask is None or self._shared == 1 or mask.shape[-2] == 1
        return mask if is_for_all else ops.concatenate([mask] * self._shared, axis=-2)


def _times(count: int, length: Any) -> Any:
    """Return count * length; -1, an inferred length, stays -1."""
    return -1 if isinstance(length, int) and length == -1 else count * length
