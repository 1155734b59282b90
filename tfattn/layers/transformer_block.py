"""The Transformer block with self-attention."""

from typing import Any

import keras

from tfattn.layers.dropout import Dropout
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.key_value_cache import GrowingCache
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.stochastic_depth import StochasticDepth
from tfattn.ops.attention_record import Record
from tfattn.ops.pooling import leading
from tfattn.ops.positions import BASE


class TransformerBlock(keras.layers.Layer):
    """Self-attention and a feed-forward network, each with a residual connection: (B, T, D) -> (B, T, D).

    Masks: as MultiHeadAttention.

    Args:
        num_heads, num_groups, rotary_base, qk_norm: as MultiHeadAttention.
        intermediate_dim: the width inside the feed-forward network.
        norm: "post" normalizes the sums (the original), "pre" the inputs of both sublayers (trains deep stacks more
            easily), "pre_feed_forward" the input of the feed-forward network only.
        normalization: as `normalization_layer`.
        activation: as FeedForward.
        use_bias: whether the linear maps add a learned vector.
        dropout: the fraction of both results that is dropped in training, before they are added.
        attention_dropout: the fraction of the attention weights that is dropped in training.
        intermediate_dropout: the fraction that is dropped in training inside the feed-forward network.
        stochastic_depth: the fraction of rows that skip a sublayer in training.
        epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.
        output_range: the standard deviation of the output kernels of both sublayers; by default `initializer_range`.

    Call arguments:
        x, attention_mask, positions, cache, num_queries, return_attention_scores, record: as MultiHeadAttention.

    Returns:
        as MultiHeadAttention.

    Example:
        >>> block = TransformerBlock(num_heads=2, intermediate_dim=32)
        >>> block(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: post: Vaswani et al. 2017, section 3.1; pre: Xiong et al. 2020, "On layer normalization in the Transformer
    architecture"; pre_feed_forward: the first block of Gorishniy et al. 2021, "Revisiting deep learning models for
    tabular data"; gates, rotary positions and no biases: Portes et al. 2023, "MosaicBERT".
    """

    def __init__(
        self,
        *,
        num_heads: int,
        intermediate_dim: int,
        num_groups: int | None = None,
        rotary_base: float | None = BASE,
        qk_norm: bool = False,
        norm: str = "post",
        normalization: str = "layer_norm",
        activation: str = "gelu",
        use_bias: bool = True,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        intermediate_dropout: float = 0.0,
        stochastic_depth: float = 0.0,
        epsilon: float = 1e-6,
        initializer_range: float | None = 0.02,
        output_range: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        policy = {"dtype": self.dtype_policy}
        maps = {
            "use_bias": use_bias,
            "initializer_range": initializer_range,
            "output_range": output_range,
            **policy,
        }
        self.norm = norm
        self.attention = MultiHeadAttention(
            num_heads=num_heads,
            num_groups=num_groups,
            rotary_base=rotary_base,
            qk_norm=qk_norm,
            dropout=attention_dropout,
            epsilon=epsilon,
            name="attention",
            **maps,
        )
        self.feed_forward = FeedForward(
            intermediate_dim=intermediate_dim,
            activation=activation,
            dropout=intermediate_dropout,
            name="feed_forward",
            **maps,
        )
        self.norms, self.dropouts, self.depths = {}, {}, {}
        for part in ("attention", "feed_forward"):
            if part == "feed_forward" or norm != "pre_feed_forward":
                self.norms[part] = normalization_layer(normalization, epsilon=epsilon, name=f"{part}_norm", **policy)
            name = "attention_output_dropout" if part == "attention" else "feed_forward_dropout"
            self.dropouts[part] = Dropout(dropout, name=name, **policy)
            self.depths[part] = StochasticDepth(stochastic_depth, name=f"{part}_depth", **policy)

    def build(self, input_shape: tuple) -> None:
        for part, layer in (("attention", self.attention), ("feed_forward", self.feed_forward)):
            layer.build(input_shape)
            if part in self.norms:
                self.norms[part].build(input_shape)
            self.dropouts[part].build(input_shape)
            self.depths[part].build(input_shape)

    def call(
        self,
        x: Any,
        attention_mask: Any = None,
        positions: Any = None,
        cache: GrowingCache | None = None,
        num_queries: int | None = None,
        return_attention_scores: bool = False,
        record: Record | None = None,
        training: bool = False,
    ) -> Any:
        attended = self.attention(
            self.norms["attention"](x) if self.norm == "pre" else x,
            attention_mask=attention_mask,
            positions=positions,
            cache=cache,
            num_queries=num_queries,
            return_attention_scores=return_attention_scores,
            record=record,
            training=training,
        )
        attended, *others = attended if isinstance(attended, tuple) else (attended,)
        x = x if num_queries is None else leading(x, num_queries)
        x = self._add("attention", x, attended, training)
        inputs = x if self.norm == "post" else self.norms["feed_forward"](x)
        x = self._add("feed_forward", x, self.feed_forward(inputs, training=training), training)
        return (x, *others) if others else x

    def _add(self, part: str, x: Any, result: Any, training: bool) -> Any:
        result = self.dropouts[part](result, training=training)
        x = x + self.depths[part](result, training=training)
        return self.norms[part](x) if self.norm == "post" else x
