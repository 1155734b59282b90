"""One block of a Transformer decoder."""

from typing import Any

import keras

from tfattn.layers.cross_attention import CrossAttention
from tfattn.layers.dropout import Dropout
from tfattn.layers.feed_forward import FeedForward
from tfattn.layers.key_value_cache import BeamCache
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.layers.normalization import CAUSAL, normalization_layer, refuse_batch_norm
from tfattn.ops.attention_record import CROSS, DECODER, AttentionRecord, recorded


class DecoderBlock(keras.layers.Layer):
    """Causal self-attention, cross-attention and a feed-forward network: (B, T, D) -> (B, T, D).

    Each of the three sublayers has a residual connection.

    Masks: a position sees no later position, so padding at the end of a target never changes earlier outputs.
    `source_mask` (bool, broadcasts to (B, H, T, S)) is True where a query may see a source position.

    Args:
        num_heads: H, a divisor of the width D unless `head_dim` is given.
        head_dim: K, the width of a head of both attention layers; by default D / H.
        intermediate_dim: the width inside the feed-forward network.
        dropout: the fraction of each result that is dropped in training, before it is added.
        attention_dropout: the fraction of both attentions' weights that is dropped in training.
        activation: as FeedForward.
        use_bias: whether the linear maps add a learned vector.
        norm: "post" normalizes the sums (the original), "pre" the input of each sublayer (trains deep stacks more
            easily).
        normalization: as `normalization_layer`, except "batch_norm".
        epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.

    Call arguments:
        x: (B W, T, D); W > 1 rows of each source, next to each other, are beams, as in CrossAttention.
        memory: of `memory_of`, the keys and the values of the source, each (B, H, S, K).
        source_mask: as above, for B rows; None hides nothing.
        cache: of W beams for each of B rows, for decoding token by token; `self_attention` makes one.
        beam_mask: the positions of the cache that each beam sees, see MultiHeadAttention. (Keras would fill in an
            argument named `cache_mask`.)
        attention_bias: added to the scores of self-attention, see MultiHeadAttention; None for no bias.
        positions: (T,) int, the positions of x for rotary positions; None for no rotation.
        return_attention_scores: whether to also return the cross-attention weights.
        record: records the attention of both attention layers, as the parts `decoder` and `cross`.

    Returns:
        (B W, T, D). With a cache or attention weights a tuple: the output, then the new cache if one was given, then
        the attention weights (B W, H, T, S) if asked for.

    Raises:
        ConfigError: batch normalization is requested: its means would be those of later positions too.

    Example:
        >>> block = DecoderBlock(num_heads=2, intermediate_dim=32)
        >>> block.build((None, None, 8))
        >>> memory = block.memory_of(keras.random.normal((1, 7, 8)))
        >>> block(keras.random.normal((1, 5, 8)), memory).shape
        TensorShape([1, 5, 8])

    Source: post: Vaswani et al. 2017, section 3.1; pre: Xiong et al. 2020, "On layer normalization in the Transformer".
    """

    def __init__(
        self,
        *,
        num_heads: int,
        head_dim: int | None = None,
        intermediate_dim: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation: str = "relu",
        use_bias: bool = True,
        norm: str = "post",
        normalization: str = "layer_norm",
        epsilon: float = 1e-6,
        initializer_range: float | None = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        refuse_batch_norm(normalization, reason=CAUSAL)
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation = activation
        self.use_bias = use_bias
        self.norm = norm
        self.normalization = normalization
        self.epsilon = epsilon
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        policy = {"dtype": self.dtype_policy}
        kernels = {"use_bias": self.use_bias, "initializer_range": self.initializer_range, **policy}
        heads = {"num_heads": self.num_heads, "head_dim": self.head_dim}
        attention = {**heads, "dropout": self.attention_dropout, **kernels}
        self.self_attention = MultiHeadAttention(is_causal=True, name="self_attention", **attention)
        self.cross_attention = CrossAttention(name="cross_attention", **attention)
        self.feed_forward = FeedForward(
            intermediate_dim=self.intermediate_dim, activation=self.activation, name="feed_forward", **kernels
        )
        parts = ("self_attention", "cross_attention", "feed_forward")
        norm = {"epsilon": self.epsilon, **policy}
        self.norms = {part: normalization_layer(self.normalization, name=f"{part}_norm", **norm) for part in parts}
        self.dropouts = {part: Dropout(self.dropout, name=f"{part}_output_dropout", **policy) for part in parts}
        for part in parts:
            for layer in (getattr(self, part), self.norms[part], self.dropouts[part]):
                layer.build(input_shape)

    def memory_of(self, x: Any) -> tuple[Any, Any]:
        """Project a source (B, S, D) to its keys and its values, each (B, H, S, K)."""
        return self.cross_attention.memory_of(x)

    def call(
        self,
        x: Any,
        memory: tuple[Any, Any],
        source_mask: Any = None,
        cache: BeamCache | None = None,
        beam_mask: Any = None,
        attention_bias: Any = None,
        positions: Any = None,
        return_attention_scores: bool = False,
        record: AttentionRecord | None = None,
        training: bool = False,
    ) -> Any:
        part = "self_attention"
        attended = self.self_attention(
            self._read(part, x),
            attention_mask=beam_mask,
            attention_bias=attention_bias,
            cache=cache,
            positions=positions,
            record=recorded(record, DECODER),
            training=training,
        )
        if cache is not None:
            attended, cache = attended
        x = self._add(part, x, attended, training)
        part = "cross_attention"
        attended = self.cross_attention(
            self._read(part, x),
            memory,
            attention_mask=source_mask,
            return_attention_scores=return_attention_scores,
            record=recorded(record, CROSS),
            training=training,
        )
        if return_attention_scores:
            attended, attention_weights = attended
        x = self._add(part, x, attended, training)
        part = "feed_forward"
        x = self._add(part, x, self.feed_forward(self._read(part, x), training=training), training)
        outputs = [x]
        outputs += [cache] if cache is not None else []
        outputs += [attention_weights] if return_attention_scores else []
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _read(self, part: str, x: Any) -> Any:
        return self.norms[part](x) if self.norm == "pre" else x

    def _add(self, part: str, x: Any, result: Any, training: bool) -> Any:
        x = x + self.dropouts[part](result, training=training)
        return self.norms[part](x) if self.norm == "post" else x
