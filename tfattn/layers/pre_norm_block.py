"""A block of an encoder or a decoder that reads normalized vectors."""

from typing import Any

import keras

from tfattn.layers.dropout import Dropout
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.grouped_query_attention import GroupedQueryAttention
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.stochastic_depth import StochasticDepth
from tfattn.ops.attention_record import Record
from tfattn.ops.pooling import leading


class PreNormBlock(keras.layers.Layer):
    """Self-attention and a feed-forward network, each reading normalized vectors and added: (B, T, D) -> (B, T, D).

    An EncoderBlock with `norm="pre"`, of whose parts more can be chosen, and which can go on from what was read before.

    Masks: as GroupedQueryAttention.

    Args:
        num_heads, rotary_base, qk_norm, attention_dropout: of GroupedQueryAttention.
        num_groups: of the same; as many as heads if not given.
        intermediate_dim: the width inside the feed-forward network.
        activation: of FeedForward.
        normalization: as the function `normalization_layer` takes it.
        use_bias: whether the linear maps add a learned vector.
        dropout: the fraction of both results that is dropped while training, before they are added.
        stochastic_depth: the fraction of rows for which each of both is left out while training.
        epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation of the kernels' truncated normal distribution.
        output_range: that of the last kernels of both parts, whose results are added; as the others if not given.

    Call arguments:
        x, attention_mask, positions, past, recent, record, num_queries: as GroupedQueryAttention takes them.

    Returns:
        as GroupedQueryAttention.

    Example:
        >>> block = PreNormBlock(num_heads=2, intermediate_dim=32, activation="geglu")
        >>> block(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Xiong et al. 2020, "On layer normalization in the Transformer architecture"; Radford et al. 2019, "Language
    models are unsupervised multitask learners", section 2.3; the parts as in Portes et al. 2023, "MosaicBERT", and
    Warner et al. 2024, "Smarter, better, faster, longer" (ModernBERT).
    """

    def __init__(
        self,
        *,
        num_heads: int,
        num_groups: int | None = None,
        intermediate_dim: int,
        rotary_base: float | None = None,
        qk_norm: bool = False,
        activation: str = "geglu",
        normalization: str = "rms_norm",
        use_bias: bool = False,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth: float = 0.0,
        epsilon: float = 1e-6,
        initializer_range: float = 0.02,
        output_range: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.num_groups = num_groups
        self.intermediate_dim = intermediate_dim
        self.rotary_base = rotary_base
        self.qk_norm = qk_norm
        self.activation = activation
        self.normalization = normalization
        self.use_bias = use_bias
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.stochastic_depth = stochastic_depth
        self.epsilon = epsilon
        self.initializer_range = initializer_range
        self.output_range = output_range

    def build(self, input_shape: tuple) -> None:
        policy = {"dtype": self.dtype_policy}
        maps = {
            "use_bias": self.use_bias,
            "initializer_range": self.initializer_range,
            "output_range": self.output_range,
            **policy,
        }
        self.attention = GroupedQueryAttention(
            num_heads=self.num_heads,
            num_groups=self.num_groups or self.num_heads,
            rotary_base=self.rotary_base,
            qk_norm=self.qk_norm,
            dropout=self.attention_dropout,
            epsilon=self.epsilon,
            name="attention",
            **maps,
        )
        self.feed_forward = FeedForward(
            intermediate_dim=self.intermediate_dim, activation=self.activation, name="feed_forward", **maps
        )
        self.attention_norm, self.feed_forward_norm = (
            normalization_layer(self.normalization, epsilon=self.epsilon, name=f"{part}_norm", **policy)
            for part in ("attention", "feed_forward")
        )
        self.attention_output_dropout = Dropout(self.dropout, name="attention_output_dropout", **policy)
        self.feed_forward_dropout = Dropout(self.dropout, name="feed_forward_dropout", **policy)
        self.attention_depth, self.feed_forward_depth = (
            StochasticDepth(self.stochastic_depth, name=f"{part}_depth", **policy)
            for part in ("attention", "feed_forward")
        )
        for layer in (
            self.attention_norm,
            self.attention,
            self.attention_output_dropout,
            self.attention_depth,
            self.feed_forward_norm,
            self.feed_forward,
            self.feed_forward_dropout,
            self.feed_forward_depth,
        ):
            layer.build(input_shape)

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
        gathered = self.attention(
            self.attention_norm(x),
            attention_mask=attention_mask,
            positions=positions,
            past=past,
            recent=recent,
            record=record,
            num_queries=num_queries,
            training=training,
        )
        gathered, recent = (gathered, None) if recent is None else gathered
        x = x if num_queries is None else leading(x, num_queries)
        x = x + self.attention_depth(self.attention_output_dropout(gathered, training=training), training=training)
        fed = self.feed_forward(self.feed_forward_norm(x), training=training)
        x = x + self.feed_forward_depth(self.feed_forward_dropout(fed, training=training), training=training)
        return x if recent is None else (x, recent)
