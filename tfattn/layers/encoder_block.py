"""One block of a Transformer encoder."""

from typing import Any

import keras

from tfattn.layers.dropout import Dropout
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.normalization import normalization_layer
from tfattn.ops.attention_record import Record


class EncoderBlock(keras.layers.Layer):
    """Self-attention and a feed-forward network, each with a residual connection: (B, T, D) -> (B, T, D).

    Masks: `attention_mask` (bool, broadcasts to (B, H, T, T)) is True where a query may see a key.

    Args:
        num_heads: H, a divisor of the width D.
        intermediate_dim: the width inside the feed-forward network.
        dropout: the fraction of both results that is dropped while training, before they are added.
        attention_dropout: the fraction of the attention weights that is dropped while training.
        intermediate_dropout: the fraction that is dropped while training inside the feed-forward network.
        activation: of FeedForward.
        norm: "post" normalizes the sums (the original), "pre" the input of both parts (trains deep stacks more easily),
            "pre_feed_forward" that of the feed-forward network only.
        normalization: as the function `normalization_layer` takes it.
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.

    Call arguments:
        x: (B, T, D).
        attention_mask: as above; None hides nothing.
        positions: (T,) int, where x stands, for rotary positions; None for all others.
        num_queries: T, if only the first T of S positions are wanted as queries; the others are then only keys.
        return_attention_scores: whether to return the attention weights too.
        record: as MultiHeadAttention takes it.

    Returns:
        (B, T, D), and the attention weights (B, H, T, S) if asked for; S is T unless `num_queries` says otherwise.

    Example:
        >>> block = EncoderBlock(num_heads=2, intermediate_dim=32)
        >>> block(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: post: Vaswani et al. 2017, section 3.1; pre: Xiong et al. 2020, "On layer normalization in the Transformer";
    pre_feed_forward: the first block of Gorishniy et al. 2021, "Revisiting deep learning models for tabular data".
    """

    def __init__(
        self,
        *,
        num_heads: int,
        intermediate_dim: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        intermediate_dropout: float = 0.0,
        activation: str = "gelu",
        norm: str = "post",
        normalization: str = "layer_norm",
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float | None = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.intermediate_dropout = intermediate_dropout
        self.activation = activation
        self.norm = norm
        self.normalization = normalization
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        policy = {"dtype": self.dtype_policy}
        self.attention = MultiHeadAttention(
            num_heads=self.num_heads,
            dropout=self.attention_dropout,
            initializer_range=self.initializer_range,
            name="attention",
            **policy,
        )
        self.attention_norm = None if self.norm == "pre_feed_forward" else self._normalization("attention_norm")
        self.attention_output_dropout = Dropout(self.dropout, name="attention_output_dropout", **policy)
        self.feed_forward = FeedForward(
            intermediate_dim=self.intermediate_dim,
            activation=self.activation,
            dropout=self.intermediate_dropout,
            initializer_range=self.initializer_range,
            name="feed_forward",
            **policy,
        )
        self.feed_forward_norm = self._normalization("feed_forward_norm")
        self.feed_forward_dropout = Dropout(self.dropout, name="feed_forward_dropout", **policy)
        for part in (self.attention, self.attention_norm, self.attention_output_dropout):
            if part is not None:
                part.build(input_shape)
        for part in (self.feed_forward, self.feed_forward_norm, self.feed_forward_dropout):
            part.build(input_shape)

    def call(
        self,
        x: Any,
        attention_mask: Any = None,
        positions: Any = None,
        num_queries: int | None = None,
        return_attention_scores: bool = False,
        record: Record | None = None,
        training: bool = False,
    ) -> Any:
        read = self.attention_norm(x) if self.norm == "pre" else x
        gathered, attention_weights = self.attention(
            read,
            attention_mask=attention_mask,
            positions=positions,
            num_queries=num_queries,
            return_attention_scores=True,
            record=record,
            training=training,
        )
        x = x if num_queries is None else x[:, :num_queries]
        x = x + self.attention_output_dropout(gathered, training=training)
        if self.norm == "post":
            x = self.attention_norm(x)
        read = x if self.norm == "post" else self.feed_forward_norm(x)
        x = x + self.feed_forward_dropout(self.feed_forward(read, training=training), training=training)
        if self.norm == "post":
            x = self.feed_forward_norm(x)
        return (x, attention_weights) if return_attention_scores else x

    def _normalization(self, name: str) -> keras.layers.Layer:
        return normalization_layer(
            self.normalization, epsilon=self.layer_norm_epsilon, name=name, dtype=self.dtype_policy
        )
