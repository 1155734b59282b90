"""Self-attention in which several heads of queries may share one of keys and values."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.dropout import Dropout
from tfattn.layers.normalization import RmsNormalization
from tfattn.layers.projection import Projection
from tfattn.ops.attention import attention_to_parts, scaled_dot_product_attention
from tfattn.ops.attention_record import Record
from tfattn.ops.backend import inferred
from tfattn.ops.pooling import leading
from tfattn.ops.positions import rotary


class GroupedQueryAttention(keras.layers.Layer):
    """Multi-head self-attention with H heads of queries in G groups, each of which shares keys and values.

    Query, key and value come from one fused projection. Its kernel's columns are the queries of all heads, those of a
    group next to each other, then the keys of all groups, then the values.

    What was read before can be seen through its keys and values, which the layer returns: nothing that it computed
    once is computed again. They are rotated by their positions already, so that their order does not matter: a mask
    alone says what may be seen. See `Cache`.

    Masks: `attention_mask` (bool, broadcasts to (B, 1, T, S)) is True where a query may see a key. What is hidden
    changes nothing.

    Args:
        num_heads: H, a divisor of the width D.
        num_groups: G, a divisor of H; H of them make multi-head attention, one makes multi-query attention.
        rotary_base: of the angles by which positions rotate queries and keys; None rotates nothing.
        qk_norm: whether each query and each key is divided by its root mean square, and scaled.
        use_bias: whether the projections add a learned vector.
        dropout: the fraction of the attention weights that is dropped while training.
        epsilon: of the normalization of queries.
        initializer_range: the standard deviation of the kernels' truncated normal distribution.
        output_range: that of the last kernel; as the others if not given.

    Call arguments:
        x: (B, T, D).
        attention_mask: as above; S is T, or with a cache all of past, recent and new keys, in this order. None hides
            nothing.
        positions: (T,) or (B, T) int, where x stands.
        past: keys and values (B, G, S, K) of what was read long ago; given where recent ones are.
        recent: more of them, of what was read last; the new ones are added. None returns no keys and values.
        record: told the attention weights, the queries and the keys of all H heads, see `AttentionRecord`; None keeps
            none. Not with `recent`.
        num_queries: T, if only the first T of S positions are wanted as queries; the others are then only keys.

    Returns:
        (B, T, D); with `recent` a tuple of it and the recent keys and values (B, G, R + T, K), the new ones last.

    Example:
        >>> layer = GroupedQueryAttention(num_heads=4, num_groups=2)
        >>> layer(keras.random.normal((1, 5, 8)), attention_mask=ops.tri(5, dtype="bool")).shape
        TensorShape([1, 5, 8])

    Source: Ainslie et al. 2023, "GQA"; normalized queries and keys: Henry et al. 2020, "Query-key normalization for
    Transformers", with the root mean square and learned scales instead of a length of 1.
    """

    def __init__(
        self,
        *,
        num_heads: int,
        num_groups: int,
        rotary_base: float | None = None,
        qk_norm: bool = False,
        use_bias: bool = True,
        dropout: float = 0.0,
        epsilon: float = 1e-6,
        initializer_range: float = 0.02,
        output_range: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.num_groups = num_groups
        self.rotary_base = rotary_base
        self.qk_norm = qk_norm
        self.use_bias = use_bias
        self.dropout = dropout
        self.epsilon = epsilon
        self.initializer_range = initializer_range
        self.output_range = output_range

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        policy = {"dtype": self.dtype_policy}
        common = {"use_bias": self.use_bias, **policy}
        narrow = width // self.num_heads * self.num_groups
        self.qkv = Projection(
            units=(width, narrow, narrow), initializer_range=self.initializer_range, name="qkv", **common
        )
        self.qkv.build(input_shape)
        self.norms = (
            [RmsNormalization(epsilon=self.epsilon, name=f"{part}_norm", **policy) for part in ("query", "key")]
            if self.qk_norm
            else []
        )
        for norm in self.norms:
            norm.build((None, None, None, width // self.num_heads))
        self.weights_dropout = Dropout(self.dropout, name="dropout", **policy)
        self.weights_dropout.build(input_shape)
        output_range = self.initializer_range if self.output_range is None else self.output_range
        self.output_projection = Projection(units=width, initializer_range=output_range, name="output", **common)
        self.output_projection.build(input_shape)

    def call(
        self,
        x: Any,
        attention_mask: Any = None,
        positions: Any = None,
        past: Any = None,
        recent: Any = None,
        record: Record | None = None,
        num_queries: int | None = None,
        training: bool = False,
    ) -> Any:
        rows, length, width = inferred(x)
        query, key, value = self._heads(x, positions)
        if num_queries is not None:
            query, length = leading(query, num_queries), num_queries
        # Those of a group end to end: (B, H, T, K) -> (B, G, H / G T, K).
        query = ops.reshape(query, (rows, self.num_groups, self._shared * length, width // self.num_heads))
        if recent is None:
            dropout = (
                (lambda weights: self.weights_dropout(weights, training=True)) if training and self.dropout else None
            )
            means, weights = scaled_dot_product_attention(
                query, key, value, mask=self._of_groups(attention_mask), dropout=dropout
            )
            if record is not None:
                record(self._of_heads(weights), self._of_heads(query), ops.repeat(key, self._shared, axis=1))
        else:
            recent = tuple(ops.concatenate(pair, axis=2) for pair in zip(recent, (key, value), strict=True))
            means = attention_to_parts(query, [past, recent], mask=self._of_groups(attention_mask))
        means = ops.reshape(means, (rows, self.num_heads, length, width // self.num_heads))
        output = self.output_projection(ops.reshape(ops.transpose(means, (0, 2, 1, 3)), (rows, length, width)))
        return output if recent is None else (output, recent)

    def _heads(self, x: Any, positions: Any) -> tuple[Any, Any, Any]:
        """Return the queries (B, H, S, K), and the keys and values (B, G, S, K)."""
        rows, length, width = inferred(x)
        each = width // self.num_heads
        heads = ops.reshape(self.qkv(x), (rows, length, self.num_heads + 2 * self.num_groups, each))
        heads = ops.transpose(heads, (0, 2, 1, 3))  # (B, H + 2 G, S, K)
        # Split, not sliced: the gradient of each slice is an array of the whole size, and that of a split one copy.
        turned, value = ops.split(heads, (self.num_heads + self.num_groups,), axis=1)
        if self.norms:
            parts = ops.split(turned, (self.num_heads,), axis=1)
            turned = ops.concatenate([norm(x) for norm, x in zip(self.norms, parts, strict=True)], axis=1)
        if self.rotary_base is not None:
            positions = ops.expand_dims(positions, -2)  # the same for all heads
            turned = rotary(turned, positions, base=self.rotary_base)
        query, key = ops.split(turned, (self.num_heads,), axis=1)
        return query, key, value

    @property
    def _shared(self) -> int:
        """How many heads share keys and values."""
        return self.num_heads // self.num_groups

    def _of_heads(self, x: Any) -> Any:
        """Give each head its own: (B, G, H / G T, ...) to (B, H, T, ...)."""
        rows, _, _, width = ops.shape(x)
        return ops.reshape(x, (rows, self.num_heads, -1, width))

    def _of_groups(self, mask: Any) -> Any:
        """Repeat a mask for all heads of a group: (..., T, S) to (..., H / G T, S)."""
        is_for_all = mask is None or self._shared == 1 or mask.shape[-2] == 1
        return mask if is_for_all else ops.concatenate([mask] * self._shared, axis=-2)
