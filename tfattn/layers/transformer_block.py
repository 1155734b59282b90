"""The Transformer block with self-attention."""

from collections.abc import Sequence
from typing import Any

import keras

from tfattn.layers.dropout import Dropout, StochasticDepth
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.key_value_cache import GrowingCache
from tfattn.layers.layer_scale import LayerScale
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.normalization import normalization_layer
from tfattn.ops.attention_record import Record
from tfattn.ops.pooling import leading
from tfattn.ops.positions import BASE


class TransformerBlock(keras.layers.Layer):
    """Self-attention and a feed-forward network, each with a residual connection: (B, T, D) -> (B, T, D).

    Masks: as MultiHeadAttention.

    Args:
        num_heads, num_groups, head_dim, rotary_base, rotary_rates, qk_norm, scale, soft_cap: as MultiHeadAttention.
        intermediate_dim: the width inside the feed-forward network.
        norm: "post" normalizes the sums (the original), "pre" the inputs of both sublayers (trains deep stacks more
            easily), "pre_feed_forward" the input of the feed-forward network only, "both" the inputs and the results of
            both sublayers. With "parallel" both sublayers read the input of the block, each with its own norm.
        normalization: as `normalization_layer`.
        activation: as FeedForward.
        use_bias: whether the linear maps add a learned vector.
        attention_bias: the maps of attention that do: "none", "qkv" (not the output) or "all"; by default as
            `use_bias`.
        dropout: the fraction of both results that is dropped in training, before they are added.
        attention_dropout: the fraction of the attention weights that is dropped in training.
        intermediate_dropout: the fraction that is dropped in training inside the feed-forward network.
        stochastic_depth: the fraction of rows that skip a sublayer in training.
        layer_scale: the initial value of learned scales of both results, see LayerScale; None for no scales.
        epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.
        output_range: the standard deviation of the output kernels of both sublayers; by default `initializer_range`.

    Call arguments:
        x, attention_mask, attention_bias, positions, cache, num_queries, return_attention_scores, record: as
            MultiHeadAttention.
        padding_mask: (B, T), True (or not 0) at real positions, for batch normalization; None if all are real.

    Returns:
        as MultiHeadAttention.

    Example:
        >>> block = TransformerBlock(num_heads=2, intermediate_dim=32)
        >>> block(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: post: Vaswani et al. 2017, section 3.1; pre: Xiong et al. 2020, "On layer normalization in the Transformer
    architecture"; pre_feed_forward: the first block of Gorishniy et al. 2021, "Revisiting deep learning models for
    tabular data"; both: Gemma team 2024, "Gemma 2"; parallel: Wang and Komatsuzaki 2021, "GPT-J-6B"; gates, rotary
    positions and no biases: Portes et al. 2023, "MosaicBERT".
    """

    def __init__(
        self,
        *,
        num_heads: int,
        intermediate_dim: int,
        num_groups: int | None = None,
        head_dim: int | None = None,
        rotary_base: float | None = BASE,
        rotary_rates: Sequence[float] | None = None,
        qk_norm: bool = False,
        scale: float | None = None,
        soft_cap: float | None = None,
        norm: str = "post",
        normalization: str = "layer_norm",
        activation: str = "gelu",
        use_bias: bool = True,
        attention_bias: str | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        intermediate_dropout: float = 0.0,
        stochastic_depth: float = 0.0,
        layer_scale: float | None = None,
        epsilon: float = 1e-6,
        initializer_range: float | None = 0.02,
        output_range: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        policy = {"dtype": self.dtype_policy}
        maps = {"initializer_range": initializer_range, "output_range": output_range, **policy}
        self.norm = norm
        self.attention = MultiHeadAttention(
            num_heads=num_heads,
            num_groups=num_groups,
            head_dim=head_dim,
            rotary_base=rotary_base,
            rotary_rates=rotary_rates,
            qk_norm=qk_norm,
            scale=scale,
            soft_cap=soft_cap,
            use_bias=use_bias if attention_bias is None else attention_bias != "none",
            output_bias=use_bias if attention_bias is None else attention_bias == "all",
            dropout=attention_dropout,
            epsilon=epsilon,
            name="attention",
            **maps,
        )
        self.feed_forward = FeedForward(
            intermediate_dim=intermediate_dim,
            use_bias=use_bias,
            activation=activation,
            dropout=intermediate_dropout,
            name="feed_forward",
            **maps,
        )
        self.norms, self.dropouts, self.depths, self.scales = {}, {}, {}, {}
        for part in ("attention", "feed_forward"):
            normalized = [part] if part == "feed_forward" or norm != "pre_feed_forward" else []
            for name in [*normalized, f"{part}_output"] if norm == "both" else normalized:
                self.norms[name] = normalization_layer(normalization, epsilon=epsilon, name=f"{name}_norm", **policy)
            name = "attention_output_dropout" if part == "attention" else "feed_forward_dropout"
            self.dropouts[part] = Dropout(dropout, name=name, **policy)
            self.depths[part] = StochasticDepth(stochastic_depth, name=f"{part}_depth", **policy)
            if layer_scale is not None:
                self.scales[part] = LayerScale(initial_value=layer_scale, name=f"{part}_scale", **policy)

    def build(self, input_shape: tuple) -> None:
        for part, layer in (("attention", self.attention), ("feed_forward", self.feed_forward)):
            layer.build(input_shape)
            for name in (part, f"{part}_output"):
                if name in self.norms:
                    self.norms[name].build(input_shape)
            self.dropouts[part].build(input_shape)
            self.depths[part].build(input_shape)
            if part in self.scales:
                self.scales[part].build(input_shape)

    def call(
        self,
        x: Any,
        attention_mask: Any = None,
        attention_bias: Any = None,
        positions: Any = None,
        cache: GrowingCache | None = None,
        num_queries: int | None = None,
        return_attention_scores: bool = False,
        record: Record | None = None,
        padding_mask: Any = None,
        training: bool = False,
    ) -> Any:
        common = {"padding_mask": padding_mask, "training": training}
        attended = self.attention(
            self.norms["attention"](x, **common) if self.norm in ("pre", "both", "parallel") else x,
            attention_mask=attention_mask,
            attention_bias=attention_bias,
            positions=positions,
            cache=cache,
            num_queries=num_queries,
            return_attention_scores=return_attention_scores,
            record=record,
            training=training,
        )
        attended, *others = attended if isinstance(attended, tuple) else (attended,)
        if num_queries is not None:
            x = leading(x, num_queries)
            common["padding_mask"] = None if padding_mask is None else padding_mask[:, :num_queries]
        block_input = x
        x = self._add("attention", x, attended, **common)
        read = block_input if self.norm == "parallel" else x
        inputs = read if self.norm == "post" else self.norms["feed_forward"](read, **common)
        x = self._add("feed_forward", x, self.feed_forward(inputs, training=training), **common)
        return (x, *others) if others else x

    def _add(self, part: str, x: Any, result: Any, *, padding_mask: Any, training: bool) -> Any:
        common = {"padding_mask": padding_mask, "training": training}
        result = self.norms[f"{part}_output"](result, **common) if self.norm == "both" else result
        result = self.scales[part](result) if part in self.scales else result
        result = self.dropouts[part](result, training=training)
        x = x + self.depths[part](result, training=training)
        return self.norms[part](x, **common) if self.norm == "post" else x
