"""The encoder-decoder Transformer."""

from typing import Annotated, Any, Literal

import keras
from keras import ops
from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.relations import Below, Divides
from tfattn.config.types import Activation, Depth, Normalization, PositionNormalization, Rate, Size
from tfattn.features import LOGITS, PADDING_MASK, TARGET_IDS, TOKEN_IDS
from tfattn.layers.decoder_block import DecoderBlock
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.layers.key_value_cache import BeamCache
from tfattn.layers.normalization import CAUSAL, normalization_layer, refuse_batch_norm
from tfattn.layers.positions import Positions, check_heads
from tfattn.layers.relative_bias import RelativeBias
from tfattn.layers.token_tables import logits, token_tables
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.encoder_decoder import EncoderDecoder
from tfattn.ops import masks
from tfattn.ops.attention_record import ENCODER, AttentionRecord, recorded
from tfattn.ops.indexing import pick


class Transformer(Attends, EncoderDecoder):
    """A stack of encoder blocks that reads the source, and a stack of decoder blocks that generates the target.

    The constructor creates its weights, with names such as `transformer/token/embeddings` and
    `transformer/decoder_0/cross_attention/query/kernel`. Logits are products with the output embeddings.

    With other options it is Marian (`positions: sinusoidal_halves`, `output_bias: true`), or T5 (`norm: pre`,
    `normalization: rms_norm`, `positions: relative`, `use_bias: false`).

    Masks: padded positions never change the outputs at real positions. The padding of a source is masked, and the
    padding of a target is after all its tokens, which a causal decoder does not see.

    Args:
        vocabulary_size: the number of source token ids; known from the preprocessing.
        target_vocabulary_size: V, the number of target token ids; known from the preprocessing.
        hidden_dim: the width D of every position's vector.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim unless `head_dim` is given.
        head_dim: the width of a head; by default hidden_dim divided by num_heads.
        intermediate_dim: the width inside the feed-forward networks, usually 4 * hidden_dim.
        decoder_layers: the number of decoder blocks; by default `num_layers`.
        max_sequence_length: the longest source and the longest target in tokens, start and end included.
        dropout: the fraction of embeddings and block outputs that is dropped in training.
        attention_dropout: the fraction of attention weights that is dropped in training.
        activation: the activation of the feed-forward networks: relu (the original), gelu (exact), gelu_approximate (by
            tanh); or relu_squared, silu (Swish), sigmoid, tanh; or the gated glu, reglu, geglu, geglu_approximate,
            swiglu.
        norm: "post" normalizes after each residual connection, as the original; "pre" before each sublayer, which
            trains deep stacks more easily.
        positions: "sinusoidal" (the original) adds sines and cosines in turn, "sinusoidal_halves" all sines before all
            cosines, "learned" a table's rows; "rotary" rotates the queries and keys of self-attention, and "relative"
            adds a learned number for each range of distances to its scores.
        position_buckets: the number of ranges of relative positions, see RelativeBias.
        max_relative_positions: the distance from which on all distances are in the same range.
        share_embeddings: which token embeddings are shared: "all" (source, target and output; the preprocessing has a
            joint vocabulary), "target" (target and output), "inputs" (source and target) or "none".
        output_bias: whether the logits have a learned bias.
        use_bias: whether the linear maps of the blocks add a learned vector.
        normalization: "layer_norm" (the original), "layer_norm_no_bias" or "rms_norm"; or "none"; or in the encoder
            "batch_norm", with another normalization in the decoder.
        decoder_normalization: the normalization of the decoder, by default `normalization`. "batch_norm" is refused,
            because a decoder would see later tokens.
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which kernels are initialized; by default Glorot uniform (Glorot
            and Bengio 2010). The standard deviation of token embeddings is always D^-0.5.

    Call arguments:
        features: `token_ids` (B, S) int, `padding_mask` (B, S) bool, True at real tokens, and `target_ids` (B, T) int.
        record: records the attention of each layer, see `AttentionRecord`.

    Returns:
        a dictionary of `logits` (B, T - 1, V) in the model's compute type.

    Raises:
        ConfigError: heads of rotary positions have an odd width, or embeddings are shared by vocabularies of different
            sizes.

    Example:
        >>> sizes = {"hidden_dim": 8, "num_layers": 2, "num_heads": 2, "intermediate_dim": 32}
        >>> model = Transformer(vocabulary_size=100, target_vocabulary_size=90, **sizes)
        >>> ids = ops.ones((1, 5), "int32")
        >>> model({"token_ids": ids, "padding_mask": ids > 0, "target_ids": ids})["logits"].shape
        TensorShape([1, 4, 90])

    Source: Vaswani et al. 2017, "Attention is all you need"; Junczys-Dowmunt et al. 2018, "Marian: fast neural machine
    translation in C++"; Raffel et al. 2020, "Exploring the limits of transfer learning with a unified text-to-text
    Transformer". The alignment of `step` is the mean over the heads of the
    block below the last, which Garg et al. 2019, "Jointly learning to align and translate with Transformer models",
    found to align best.
    """

    def __init__(
        self,
        *,
        vocabulary_size: Size[int],
        target_vocabulary_size: Size[int],
        hidden_dim: PositiveInt,
        num_layers: Depth,
        num_heads: Annotated[PositiveInt, Divides("hidden_dim", unless="head_dim")],
        head_dim: PositiveInt | None = None,
        intermediate_dim: PositiveInt,
        decoder_layers: Depth | None = None,
        max_sequence_length: PositiveInt = 256,
        dropout: Rate = 0.1,
        attention_dropout: Rate = 0.0,
        activation: Activation = "relu",
        norm: Literal["post", "pre"] = "post",
        normalization: Normalization = "layer_norm",
        decoder_normalization: PositionNormalization | None = None,
        positions: Literal["sinusoidal", "sinusoidal_halves", "learned", "rotary", "relative"] = "sinusoidal",
        position_buckets: Annotated[int, Field(ge=4, multiple_of=4), Below("max_relative_positions")] = 32,
        max_relative_positions: PositiveInt = 128,
        share_embeddings: Literal["all", "target", "inputs", "none"] = "target",
        output_bias: bool = False,
        use_bias: bool = True,
        layer_norm_epsilon: PositiveFloat = 1e-6,
        initializer_range: PositiveFloat | None = None,
    ):
        super().__init__(name="transformer")
        self.vocabulary_size = vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.decoder_layers = decoder_layers
        self.max_sequence_length = max_sequence_length
        self.norm = norm
        self.positions = positions
        self.has_vectors = positions != "relative"
        self.share_embeddings = share_embeddings
        self.layer_norm_epsilon = layer_norm_epsilon
        check_heads(positions, hidden_dim, num_heads, head_dim)
        decoder_normalization = decoder_normalization or normalization
        refuse_batch_norm(
            decoder_normalization,
            reason=CAUSAL,
            remedy="Use layer_norm or rms_norm, or batch_norm in the encoder with `decoder_normalization: layer_norm`.",
        )
        with self.name_scope():
            self.source_token, self.target_token, self.output_token = token_tables(
                hidden_dim,
                vocabulary_size=vocabulary_size,
                target_vocabulary_size=target_vocabulary_size,
                share=share_embeddings,
            )
            self.source_positions, self.target_positions = (
                Positions(
                    positions=positions,
                    max_sequence_length=max_sequence_length,
                    dropout=dropout,
                    name=f"{side}_positions",
                )
                for side in ("source", "target")
            )
            ranged = {} if initializer_range is None else {"initializer_range": initializer_range}
            self.source_bias, self.target_bias = (
                RelativeBias(
                    num_heads=num_heads,
                    is_causal=side == "target",
                    num_buckets=position_buckets,
                    max_distance=max_relative_positions,
                    name=f"{side}_bias",
                    **ranged,
                )
                if positions == "relative"
                else None
                for side in ("source", "target")
            )
            common = {
                "num_heads": num_heads,
                "head_dim": head_dim,
                "intermediate_dim": intermediate_dim,
                "dropout": dropout,
                "attention_dropout": attention_dropout,
                "activation": activation,
                "use_bias": use_bias,
                "norm": norm,
                "epsilon": layer_norm_epsilon,
                "initializer_range": initializer_range,
            }
            self.encoder = [
                TransformerBlock(normalization=normalization, name=f"encoder_{index}", **common)
                for index in range(num_layers)
            ]
            self.decoder = [
                DecoderBlock(normalization=decoder_normalization, name=f"decoder_{index}", **common)
                for index in range(decoder_layers or num_layers)
            ]
            # With pre-norm the outputs of the last blocks are not normalized.
            self.final_norms = [
                normalization_layer(kind, epsilon=layer_norm_epsilon, name=f"{side}_norm")
                for side, kind in (("encoder", normalization), ("decoder", decoder_normalization))
                if norm == "pre"
            ]
            layers = (self.source_positions, self.target_positions, *self.encoder, *self.decoder, *self.final_norms)
            for layer in layers:
                layer.build((None, None, hidden_dim))
            for bias in self._biases:
                bias.build()
            self.output_bias = (
                self.add_weight(name="output_bias", shape=(target_vocabulary_size,), initializer="zeros")
                if output_bias
                else None
            )
        self.built = True

    @property
    def token_embeddings(self) -> EmbeddingTable:
        return self.source_token

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        memory = self.encode(features, training=training, record=record)
        target_ids = features[TARGET_IDS][:, :-1]
        indices = ops.arange(ops.shape(target_ids)[1])
        x = self.target_positions(self.target_token(target_ids), indices, training=training)
        bias = None if self.target_bias is None else self.target_bias(indices, indices)
        common = {**self._common(memory, indices), "attention_bias": bias}
        for index, block in enumerate(self.decoder):
            x = block(x, _layer_memory(memory, index), **common, record=record, training=training)
        return {LOGITS: self._logits(x)}

    def encode(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        """Compute the memory of a source.

        Returns:
            a dictionary of `padding_mask` (B, S) bool, and of `keys_0`, `values_0` ... (B, H, S, K) for each decoder
            block.
        """
        token_ids, padding_mask = features[TOKEN_IDS], ops.cast(features[PADDING_MASK], "bool")
        indices = ops.arange(ops.shape(token_ids)[1])
        x = self.source_positions(self.token_vectors(features), indices, training=training)
        bias = None if self.source_bias is None else self.source_bias(indices, indices)
        mask, positions = masks.padding(padding_mask), self._rotary_positions(indices)
        options = {"attention_mask": mask, "attention_bias": bias, "positions": positions}
        common = {"padding_mask": padding_mask, "training": training}
        for block in self.encoder:
            x = block(x, **options, record=recorded(record, ENCODER), **common)
        if self.final_norms:
            x = self.final_norms[0](x, **common)
        memory = {PADDING_MASK: padding_mask}
        for index, block in enumerate(self.decoder):
            memory[f"keys_{index}"], memory[f"values_{index}"] = block.memory_of(x)
        return memory

    def empty_state(self, memory: dict[str, Any], max_length: int, num_beams: int = 1) -> Any:
        """Return an empty key/value cache for each decoder block, and the origins: the beam whose cache has a position.

        Returns:
            the caches, two (B, H, W, max_length, K) for each block, and the origins (B, W, max_length) int32.
        """
        batch = ops.shape(memory[PADDING_MASK])[0]
        caches = [block.self_attention.empty_beams(batch, max_length, num_beams) for block in self.decoder]
        return tuple((cache.keys, cache.values) for cache in caches), ops.zeros((batch, num_beams, max_length), "int32")

    def step(self, token_ids: Any, index: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        caches, origins = state
        indices = ops.reshape(ops.cast(index, "int32"), (1,))
        # The current token is written to the beam's own cache.
        own = ops.arange(origins.shape[1], dtype="int32")[:, None]
        origins = ops.where(ops.arange(ops.shape(origins)[2], dtype="int32") == indices, own, origins)
        common = {**self._common(memory, indices), "beam_mask": masks.continued(origins, index)}
        if self.target_bias is not None:
            bias = self.target_bias(indices, ops.arange(ops.shape(origins)[2], dtype="int32"))
            # The keys of all W beams of a row: (1, H, 1, S) -> (1, H, 1, W S).
            common["attention_bias"] = ops.tile(bias, (1, 1, 1, origins.shape[1]))
        x = self.target_positions(self.target_token(token_ids[:, None]), indices)
        aligning = max(len(self.decoder) - 2, 0)
        new_caches = []
        for layer, (block, cache) in enumerate(zip(self.decoder, caches, strict=True)):
            x, cache, weights = block(
                x,
                _layer_memory(memory, layer),
                cache=BeamCache(*cache, ops.cast(index, "int32")),
                return_attention_scores=True,
                **common,
            )
            new_caches.append((cache.keys, cache.values))
            if layer == aligning:
                alignment = ops.sum(ops.cast(weights[:, :, 0], "float32"), axis=1)  # (B W, H, 1, S) -> (B W, S)
        # In half precision many logits would be equal, and the choice between them arbitrary.
        x = self._logits(x, dtype="float32")[:, 0]
        alignment = alignment / ops.sum(alignment, axis=-1, keepdims=True)
        return x, (tuple(new_caches), origins), alignment

    def reorder(self, state: Any, beams: Any) -> Any:
        """Reorder the origins; the caches do not change."""
        caches, origins = state
        return caches, pick(origins, beams)

    def vectors_of(self, features: dict[str, Any]) -> Any:
        return self.source_token(features[TOKEN_IDS])

    def depth_groups(self) -> list[list[keras.Variable]]:
        tables = list({id(table): table for table in (self.source_token, self.target_token)}.values())
        encoder_norm, decoder_norm = ([norm] for norm in self.final_norms) if self.final_norms else ([], [])
        top = decoder_norm + ([] if self.output_token is self.target_token else [self.output_token])
        stages = [
            [*tables, self.source_positions, self.target_positions, *self._biases],
            *([block] for block in self.encoder),
            encoder_norm,
            *([block] for block in self.decoder),
            top,
        ]
        groups = [[variable for layer in stage for variable in layer.trainable_variables] for stage in stages if stage]
        return groups if self.output_bias is None else [*groups[:-1], [*groups[-1], self.output_bias]]

    @property
    def _biases(self) -> list[RelativeBias]:
        """Return the biases of relative positions, if there are any."""
        return [bias for bias in (self.source_bias, self.target_bias) if bias is not None]

    def _rotary_positions(self, indices: Any) -> Any:
        return indices if self.positions == "rotary" else None

    def _common(self, memory: dict[str, Any], indices: Any) -> dict[str, Any]:
        """Return the arguments that all decoder blocks share."""
        return {"source_mask": masks.padding(memory[PADDING_MASK]), "positions": self._rotary_positions(indices)}

    def _logits(self, x: Any, dtype: str | None = None) -> Any:
        """Compute the logits of outputs of the last block, in their type unless another is given."""
        x = self.final_norms[1](x) if self.final_norms else x
        return logits(x if dtype is None else ops.cast(x, dtype), self.output_token, self.output_bias)


def _layer_memory(memory: dict[str, Any], index: int) -> tuple[Any, Any]:
    return memory[f"keys_{index}"], memory[f"values_{index}"]
