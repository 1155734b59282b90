"""GPT, a decoder-only Transformer that predicts the next token."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import keras
from keras import ops
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from tfattn import features as feature_names
from tfattn.config.relations import Divides, OnlyWith
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.decoding.cache import Cache, Pair
from tfattn.layers.dropout import Dropout
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.layers.key_value_cache import GrowingCache
from tfattn.layers.normalization import CAUSAL, normalization_layer, refuse_batch_norm
from tfattn.layers.positions import check_heads
from tfattn.layers.token_tables import logits
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.decoder import Biases, Decoder
from tfattn.models.decoder_layers import layer_attention
from tfattn.ops import masks
from tfattn.ops.attention_record import DECODER, AttentionRecord, recorded
from tfattn.ops.positions import restarting, sinusoidal
from tfattn.ops.rotary_rates import BASE, RotaryScaling


class Gpt(Attends, Decoder):
    """A decoder of pre-norm blocks, by default GPT-2; with other options a Llama, a Gemma, or another decoder.

    The constructor creates its weights, with names such as `gpt/block_0/attention/qkv/kernel`. The options of
    published architectures are in `docs/pretrained.md`.

    Masks: later and padded positions never change earlier outputs; texts packed into a row do not see each other.

    Args:
        vocabulary_size: V, the number of token ids; known from the preprocessing.
        hidden_dim: the width D of every position's vector.
        num_layers: the number of blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        num_key_value_heads: the number of heads of keys and values, a divisor of num_heads; by default num_heads. Fewer
            heads make caches smaller.
        head_dim: the width K of a head; by default hidden_dim / num_heads.
        intermediate_dim: the width inside the feed-forward networks, usually 4 * hidden_dim, or 8 / 3 of it where the
            activation has a gate.
        max_sequence_length: the longest text in tokens.
        positions: "learned" adds a table's rows, "sinusoidal" sines and cosines, "rotary" rotates queries and keys.
        rotary_base: the base of the wavelengths of rotary positions; a larger base suits longer texts.
        rotary_fraction: the fraction of the components of a head that rotary positions rotate.
        rotary_scaling: how the wavelengths are stretched for longer texts: `name` is linear, llama3, yarn or factors,
            with the numbers of the method, as `{name: linear, factor: 8.0}`; null for no change. See
            tfattn/ops/rotary_rates.py.
        unrotated_layers: the indices, from 0, of the layers without rotary positions.
        window: the number of positions that a query sees, its own included; null for all earlier positions.
        global_layers: the indices of the layers that see all earlier positions, although there is a window.
        local_rotary_base: rotary_base of the layers with a window, whose wavelengths are not scaled; null for the same
            wavelengths in all layers.
        norm: "pre" normalizes the inputs of attention and of the feed-forward network, "both" their results too. With
            "parallel" both read the input of the block, each with its own norm.
        normalization: "layer_norm", "layer_norm_no_bias" or "rms_norm"; or "none". "batch_norm" is refused, with the
            reason.
        activation: gelu_approximate (GPT-2), gelu, relu, relu_squared, silu (Swish), sigmoid, tanh; or the gated glu,
            reglu, geglu, geglu_approximate, swiglu.
        use_bias: whether the linear maps of the blocks add a learned vector.
        attention_bias: the maps of attention that do: "none", "qkv" (not the output) or "all"; by default as use_bias.
        qk_norm: whether queries and keys are normalized by their root mean squares before the dot product.
        query_scale: the factor of the dot products of queries and keys; by default 1 / sqrt(K).
        attention_soft_cap: c, the bound of these scores, c tanh(scores / c); null for no bound.
        scale_embeddings: whether token embeddings are multiplied by sqrt(D).
        tied: whether input and output share the token embeddings; otherwise the output has a table of its own.
        logit_soft_cap: c, the bound of the logits, c tanh(logits / c); null for no bound.
        token_dropout: the fraction of the vocabulary whose embeddings are 0 in a training step, at all positions.
        dropout: the fraction of embeddings and block outputs that is dropped in training.
        attention_dropout: the fraction of attention weights that is dropped in training.
        epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which weights are initialized; for the output kernels of
            attention and feed-forward networks it is divided by the square root of their number.

    Call arguments:
        features: `token_ids` (B, T) int; optional `padding_mask` (B, T) and `sequence_ids` (B, T).
        record: records the attention of each layer, see `AttentionRecord`.

    Returns:
        a dictionary of `logits` (B, T, V) in the model's compute type.

    Raises:
        ConfigError: heads of rotary positions have an odd width, an option of the layers names a layer that does not
            exist or needs another option, or rotary_scaling does not fit.

    Example:
        >>> gpt = Gpt(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> gpt({"token_ids": ops.ones((1, 5), "int32")})["logits"].shape
        TensorShape([1, 5, 100])

    Source: Radford et al. 2019, "Language models are unsupervised multitask learners" (GPT-2); Touvron et al. 2023,
    "LLaMA"; windows: Jiang et al. 2023, "Mistral 7B"; soft caps, norms of results: Gemma team 2024, "Gemma 2"; layers
    without positions: Yang et al. 2025, "RoPE to NoPE and back again"; parallel blocks: Black et al. 2022,
    "GPT-NeoX-20B"; dropout of tokens: Gal and Ghahramani 2016, "A theoretically grounded application of dropout in
    recurrent neural networks", section 4.2.
    """

    def __init__(
        self,
        *,
        vocabulary_size: Size[int],
        hidden_dim: PositiveInt,
        num_layers: Depth,
        num_heads: Annotated[PositiveInt, Divides("hidden_dim")],
        num_key_value_heads: Annotated[PositiveInt, Divides("num_heads")] | None = None,
        head_dim: PositiveInt | None = None,
        intermediate_dim: PositiveInt,
        max_sequence_length: PositiveInt = 1024,
        positions: Literal["learned", "sinusoidal", "rotary"] = "learned",
        rotary_base: PositiveFloat = BASE,
        rotary_fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0,
        rotary_scaling: Annotated[RotaryScaling | None, OnlyWith("positions", values=("rotary",))] = None,
        unrotated_layers: Annotated[tuple[NonNegativeInt, ...], OnlyWith("positions", values=("rotary",))] = (),
        window: PositiveInt | None = None,
        global_layers: Annotated[tuple[NonNegativeInt, ...], OnlyWith("window")] = (),
        local_rotary_base: Annotated[PositiveFloat | None, OnlyWith("window")] = None,
        norm: Literal["pre", "both", "parallel"] = "pre",
        normalization: Normalization = "layer_norm",
        activation: Activation = "gelu_approximate",
        use_bias: bool = True,
        attention_bias: Literal["none", "qkv", "all"] | None = None,
        qk_norm: bool = False,
        query_scale: PositiveFloat | None = None,
        attention_soft_cap: PositiveFloat | None = None,
        scale_embeddings: bool = False,
        tied: bool = True,
        logit_soft_cap: PositiveFloat | None = None,
        token_dropout: Rate = 0.0,
        dropout: Rate = 0.1,
        attention_dropout: Rate = 0.0,
        epsilon: PositiveFloat = 1e-5,
        initializer_range: PositiveFloat = 0.02,
    ):
        super().__init__(name="gpt")
        refuse_batch_norm(normalization, reason=CAUSAL)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.num_groups = num_key_value_heads or num_heads
        self.head_dim = head_dim or hidden_dim // num_heads
        self.intermediate_dim = intermediate_dim
        self.max_sequence_length = max_sequence_length
        self.positions = positions
        self.rotary_base = rotary_base
        self.window = window
        self.embedding_scale = math.sqrt(hidden_dim) if scale_embeddings else None
        self.has_vectors = attention_soft_cap is None
        self.tied = tied
        self.logit_soft_cap = logit_soft_cap
        self.token_dropout = token_dropout
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.epsilon = epsilon
        check_heads(positions, self.head_dim * num_heads, num_heads)
        layers = layer_attention(
            num_layers=num_layers,
            head_dim=self.head_dim,
            is_rotary=positions == "rotary",
            rotary_base=rotary_base,
            rotary_fraction=rotary_fraction,
            rotary_scaling=rotary_scaling,
            unrotated_layers=unrotated_layers,
            window=window,
            global_layers=global_layers,
            local_rotary_base=local_rotary_base,
            query_scale=query_scale,
        )
        self.has_window = [layer.has_window for layer in layers]
        with self.name_scope():
            tables = {"width": hidden_dim, "initializer_range": initializer_range}
            self.token = EmbeddingTable(num_rows=vocabulary_size, name="token", **tables)
            self.position = (
                EmbeddingTable(num_rows=max_sequence_length, name="position", **tables)
                if positions == "learned"
                else None
            )
            self.output_table = (
                self.token if tied else EmbeddingTable(num_rows=vocabulary_size, name="output", **tables)
            )
            self.token_kept = Dropout(token_dropout, name="token_dropout", dtype="float32")
            self.embedding_dropout = Dropout(dropout, name="embedding_dropout")
            self.blocks = [
                TransformerBlock(
                    num_heads=num_heads,
                    num_groups=self.num_groups,
                    head_dim=head_dim,
                    intermediate_dim=intermediate_dim,
                    qk_norm=qk_norm,
                    soft_cap=attention_soft_cap,
                    norm=norm,
                    activation=activation,
                    normalization=normalization,
                    use_bias=use_bias,
                    attention_bias=attention_bias,
                    dropout=dropout,
                    attention_dropout=attention_dropout,
                    epsilon=epsilon,
                    initializer_range=initializer_range,
                    output_range=initializer_range / math.sqrt(2 * num_layers),
                    name=f"block_{index}",
                    **layer.options,
                )
                for index, layer in enumerate(layers)
            ]
            self.final_norm = normalization_layer(normalization, epsilon=epsilon, name="norm")
            for table in (self.token, self.position, self.output_table):
                if table is not None and not table.built:
                    table.build()
            self.token_kept.build((vocabulary_size, 1))
            for layer in (self.embedding_dropout, *self.blocks, self.final_norm):
                layer.build((None, None, hidden_dim))
        self.built = True

    @property
    def token_embeddings(self) -> EmbeddingTable:
        return self.token

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        token_ids, packed = features[feature_names.TOKEN_IDS], features.get(feature_names.SEQUENCE_IDS)
        length = ops.shape(token_ids)[1]
        positions = ops.arange(length, dtype="int32")[None] if packed is None else restarting(packed)
        # Padding is at the end, where no real token attends to it.
        mask = masks.combine(masks.causal(length, length), None if packed is None else masks.same_sequence(packed))
        visible = self._masks(mask, positions, positions)
        x = self._embedded(token_ids, positions, training, features.get(feature_names.TOKEN_VECTORS))
        for block, mask in zip(self.blocks, visible, strict=True):
            x = block(x, attention_mask=mask, positions=positions, record=recorded(record, DECODER), training=training)
        return {feature_names.LOGITS: self._capped(logits(self.final_norm(x), self.output_table))}

    def empty_cache(self, batch_size: Any) -> Cache:
        return Cache.empty(
            batch_size,
            num_layers=self.num_layers,
            num_groups=self.num_groups,
            head_dim=self.head_dim,
            dtype=self.compute_dtype,
        )

    def read(self, token_ids: Any, cache: Cache, padding_mask: Any = None) -> tuple[Any, Cache]:
        is_real = ops.ones_like(token_ids, dtype="bool") if padding_mask is None else ops.cast(padding_mask, "bool")
        positions = cache.lengths[:, None] + ops.arange(ops.shape(token_ids)[1], dtype="int32")
        mask, read = cache.visible(is_real), []
        key_positions = None if self.window is None else ops.concatenate([cache.positions(), positions], axis=1)
        visible = self._masks(mask, positions, key_positions)
        x = self._embedded(token_ids, positions, training=False)
        for block, mask, past, recent in zip(self.blocks, visible, cache.past, cache.recent, strict=True):
            x, extended = block(x, attention_mask=mask, positions=positions, cache=GrowingCache(past, recent))
            read.append(extended.recent)
        return self.final_norm(x), cache.extended(read, is_real)

    def read_biased(
        self, token_ids: Any, positions: Any, past: Sequence[Pair], biases: Biases, window_biases: Biases | None = None
    ) -> tuple[Any, list[Pair]]:
        visible = [window_biases if has_window else biases for has_window in self.has_window]
        x, read = self._embedded(token_ids, positions, training=False), []
        for block, bias, pair in zip(self.blocks, visible, past, strict=True):
            x, cache = block(x, attention_mask=bias, positions=positions, cache=GrowingCache(pair, None))
            read.append(cache.recent)
        return self.final_norm(x), read

    def next_logits(self, x: Any) -> Any:
        # TensorFlow multiplies a few rows with a table in half of the time as a batch of a single product.
        rows = ops.reshape(x, (1, -1, self.hidden_dim))
        table = ops.cast(self.output_table.embeddings, x.dtype)[None]
        products = self._capped(ops.matmul(rows, ops.swapaxes(table, -1, -2)))
        return ops.cast(ops.reshape(products, (*ops.shape(x)[:-1], self.vocabulary_size)), "float32")

    def row_logits(self, x: Any) -> Any:
        return self._capped(logits(x, self.output_table))

    def _masks(self, mask: Any, positions: Any, key_positions: Any) -> list[Any]:
        """Return the mask of each layer: all visible keys, or those within the window."""
        if self.window is None:
            return [mask] * self.num_layers
        near = masks.combine(mask, masks.window(positions, key_positions, self.window))
        return [near if has_window else mask for has_window in self.has_window]

    def _embedded(self, token_ids: Any, positions: Any, training: bool, vectors: Any = None) -> Any:
        x = self.token(token_ids) if vectors is None else vectors
        if self.embedding_scale is not None:
            x = x * self.embedding_scale
        if training and self.token_dropout:
            kept = self.token_kept(ops.ones((self.vocabulary_size, 1)), training=True)
            x = x * ops.take(kept, token_ids, axis=0)
        if self.positions == "learned":
            # Rows that only fill a batch may exceed the last position; their result is not used.
            x = x + self.position(ops.minimum(positions, self.max_sequence_length - 1))
        elif self.positions == "sinusoidal":
            x = x + sinusoidal(positions, self.hidden_dim)
        return self.embedding_dropout(ops.cast(x, self.compute_dtype), training=training)

    def _capped(self, products: Any) -> Any:
        if self.logit_soft_cap is None:
            return products
        return ops.tanh(products / self.logit_soft_cap) * self.logit_soft_cap

    def vectors_of(self, features: dict[str, Any]) -> Any:
        return self.token(features[feature_names.TOKEN_IDS])

    def depth_groups(self) -> list[list[keras.Variable]]:
        tables = [self.token] if self.position is None else [self.token, self.position]
        below = [variable for table in tables for variable in table.trainable_variables]
        top = [*self.final_norm.trainable_variables, *([] if self.tied else self.output_table.trainable_variables)]
        return [below, *(block.trainable_variables for block in self.blocks), top]
