"""A block of an encoder that reads normalized vectors."""

from typing import Any

import keras

from tfattn.layers.dropout import Dropout
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.norm import NORMALIZATIONS


class PreNormBlock(keras.layers.Layer):
    """Self-attention and a feed-forward network, each reading normalized vectors and added: (B, T, D) -> (B, T, D).

    An EncoderBlock with `norm="pre"`, of whose parts more can be chosen.

    Masks: `attention_mask` (bool, broadcasts to (B, H, T, T)) is True where a query may see a key.

    Args:
        num_heads: H, a divisor of the width D.
        intermediate_dim: the width inside the feed-forward network.
        activation: gelu, gelu_approximate, relu, reglu, geglu or swiglu.
        normalization: "layer_norm" or "rms_norm".
        use_bias: whether the linear maps add a learned vector.
        dropout: the fraction of both results that is dropped while training, before they are added.
        attention_dropout: the fraction of the attention weights that is dropped while training.
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation of the kernels' truncated normal distribution.

    Call arguments:
        x: (B, T, D).
        attention_mask: as above; None hides nothing.
        positions: (T,) or (B, T) int, where x stands, for rotary positions; None for all others.

    Example:
        >>> block = PreNormBlock(num_heads=2, intermediate_dim=32, activation="geglu")
        >>> block(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Xiong et al. 2020, "On layer normalization in the Transformer architecture"; the parts as in Portes et al.
    2023, "MosaicBERT", and Warner et al. 2024, "Smarter, better, faster, longer" (ModernBERT).
    """

    def __init__(
        self,
        *,
        num_heads: int,
        intermediate_dim: int,
        activation: str = "geglu",
        normalization: str = "rms_norm",
        use_bias: bool = False,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        layer_norm_epsilon: float = 1e-6,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.normalization = normalization
        self.use_bias = use_bias
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        policy = {"dtype": self.dtype_policy}
        maps = {"use_bias": self.use_bias, "initializer_range": self.initializer_range, **policy}
        self.attention = MultiHeadAttention(
            num_heads=self.num_heads, dropout=self.attention_dropout, name="attention", **maps
        )
        self.feed_forward = FeedForward(
            intermediate_dim=self.intermediate_dim, activation=self.activation, name="feed_forward", **maps
        )
        self.attention_norm, self.feed_forward_norm = (
            NORMALIZATIONS[self.normalization](epsilon=self.layer_norm_epsilon, name=f"{part}_norm", **policy)
            for part in ("attention", "feed_forward")
        )
        self.attention_output_dropout = Dropout(self.dropout, name="attention_output_dropout", **policy)
        self.feed_forward_dropout = Dropout(self.dropout, name="feed_forward_dropout", **policy)
        for layer in (
            self.attention_norm,
            self.attention,
            self.attention_output_dropout,
            self.feed_forward_norm,
            self.feed_forward,
            self.feed_forward_dropout,
        ):
            layer.build(input_shape)

    def call(self, x: Any, attention_mask: Any = None, positions: Any = None, training: bool = False) -> Any:
        gathered = self.attention(
            self.attention_norm(x), attention_mask=attention_mask, positions=positions, training=training
        )
        x = x + self.attention_output_dropout(gathered, training=training)
        fed = self.feed_forward(self.feed_forward_norm(x), training=training)
        return x + self.feed_forward_dropout(fed, training=training)

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        names = (
            "num_heads intermediate_dim activation normalization use_bias dropout attention_dropout "
            "layer_norm_epsilon initializer_range"
        )
        return {**super().get_config(), **{name: getattr(self, name) for name in names.split()}}
