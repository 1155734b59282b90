"""Attention from one sequence to another."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.dropout import Dropout
from tfattn.layers.projection import Projection
from tfattn.ops.attention import scaled_dot_product_attention
from tfattn.ops.attention_record import Record


class CrossAttention(keras.layers.Layer):
    """Multi-head attention from the positions of a target to the positions of a source.

    The keys and values of a source are computed once, by `memory_of`. The W beams of a source share them without a
    copy: the B W rows of x, with the beams of a source next to each other, are treated as W T queries of one source.

    Masks: `attention_mask` (bool, broadcasts to (B, H, T, S)) is True where a query may see a source position. Hidden
    positions never change the output.

    Args:
        num_heads: H, a divisor of the width D unless `head_dim` is given.
        head_dim: K, the width of a head; by default D / H.
        use_bias: whether the projections add a learned vector.
        dropout: the fraction of the attention weights that is dropped in training.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.

    Call arguments:
        x: (B W, T, D), the target.
        memory: of `memory_of`, the keys and the values of the source, each (B, H, S, K).
        attention_mask: as above, for B rows; None hides nothing.
        return_attention_scores: whether to also return the attention weights.
        record: called with the attention weights, the queries and the keys, see `AttentionRecord`.

    Returns:
        (B W, T, D), and the attention weights (B W, H, T, S) if asked for.

    Example:
        >>> layer = CrossAttention(num_heads=2)
        >>> layer.build((None, None, 8))
        >>> memory = layer.memory_of(keras.random.normal((1, 7, 8)))
        >>> layer(keras.random.normal((1, 5, 8)), memory).shape
        TensorShape([1, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", section 3.2.3, "encoder-decoder attention".
    """

    def __init__(
        self,
        *,
        num_heads: int,
        head_dim: int | None = None,
        use_bias: bool = True,
        dropout: float = 0.0,
        initializer_range: float | None = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.use_bias = use_bias
        self.dropout = dropout
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        if self.head_dim is None and width % self.num_heads:
            raise ValueError(f"num_heads: expected a divisor of the width {width}, received {self.num_heads}")
        self.head_dim = self.head_dim or width // self.num_heads
        wide = self.num_heads * self.head_dim
        common = {"use_bias": self.use_bias, "initializer_range": self.initializer_range, "dtype": self.dtype_policy}
        self.query = Projection(units=wide, targets=("query",), name="query", **common)
        self.key_value = Projection(units=(wide,) * 2, targets=("key", "value"), name="key_value", **common)
        self.output_projection = Projection(units=width, targets=("attention_output",), name="output", **common)
        self.weights_dropout = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        for part in (self.query, self.key_value, self.weights_dropout):
            part.build(input_shape)
        self.output_projection.build((*input_shape[:-1], wide))

    def memory_of(self, x: Any) -> tuple[Any, Any]:
        """Project a source (B, S, D) to its keys and its values, each (B, H, S, K)."""
        batch, length, _ = ops.shape(x)
        pairs = ops.reshape(self.key_value(x), (batch, length, 2, self.num_heads, self.head_dim))
        key, value = ops.unstack(ops.transpose(pairs, (2, 0, 3, 1, 4)), 2)
        return key, value

    def call(
        self,
        x: Any,
        memory: tuple[Any, Any],
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        record: Record | None = None,
        training: bool = False,
    ) -> Any:
        key, value = memory
        rows, length, _ = ops.shape(x)
        batch, _, source_length, _ = ops.shape(key)
        query = ops.reshape(self.query(x), (batch, -1, self.num_heads, self.head_dim))
        query = ops.transpose(query, (0, 2, 1, 3))  # (B W, T, H K) -> (B, H, W T, K)
        dropout = (lambda weights: self.weights_dropout(weights, training=True)) if training and self.dropout else None
        heads, attention_weights = scaled_dot_product_attention(query, key, value, mask=attention_mask, dropout=dropout)
        if record is not None:
            record(attention_weights, query, key)
        heads = ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (rows, length, self.num_heads * self.head_dim))
        output = self.output_projection(heads)
        if not return_attention_scores:
            return output
        attention_weights = ops.reshape(attention_weights, (batch, self.num_heads, -1, length, source_length))
        attention_weights = ops.transpose(attention_weights, (0, 2, 1, 3, 4))  # (B, H, W T, S) -> (B W, H, T, S)
        return output, ops.reshape(attention_weights, (rows, self.num_heads, length, source_length))
