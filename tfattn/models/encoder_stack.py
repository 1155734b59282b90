"""The stack of Transformer blocks that BERT and its variants share."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
from keras import ops

from tfattn import features as feature_names
from tfattn.layers.embeddings import Embeddings, EmbeddingTable
from tfattn.layers.normalization import normalization_layer, refuse_batch_norm
from tfattn.layers.pooling import Pooler
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.ops import masks
from tfattn.ops.attention_record import ENCODER, AttentionRecord, recorded
from tfattn.ops.positions import restarting


class EncoderStack(Attends, PretrainableEncoder):
    """Embeddings, a stack of Transformer blocks, a final normalization with pre-norm, and a pooler.

    Subclasses define the arguments of the configuration, and pass them on.

    Args:
        name: the name of the model, the first part of the names of its weights.
        hidden_dim: D, the width of every position's vector.
        num_layers: the number of blocks.
        num_heads: the number of attention heads of a block.
        max_sequence_length: the longest sequence in tokens.
        norm: "post" or "pre", as TransformerBlock.
        normalization, dropout, layer_norm_epsilon, initializer_range: arguments of all layers.
        embeddings: further arguments of Embeddings.
        blocks: further arguments of every TransformerBlock. With a `rotary_base` the blocks rotate queries and keys.
        each_block: arguments of single blocks, which replace those in `blocks`; None for no differences.
        num_distinct_blocks: the number of blocks with weights of their own. Each block computes an equal number of
            consecutive layers; None for `num_layers`.
        windows: for each layer the number of tokens on each side that a token sees, None for all tokens; None if every
            layer sees all tokens.
        position_bias: the layer of `attention_bias`; None for no bias. By default it is called with the embedded tokens
            (B, T, D), and returns the `attention_bias` of all blocks, see MultiHeadAttention.

    Call arguments:
        features: `token_ids` (B, T) int; optional `padding_mask` (B, T) bool, True at real tokens, `segment_ids` (B, T)
            int, and for packed texts `sequence_ids` (B, T) int, the text of each token, 0 at padding.
        record: records the attention of each layer, see `AttentionRecord`.

    Returns:
        a dictionary of `sequence_output` (B, T, D), `pooled_output` (B, D) and `hidden_states`, a list of the outputs
        of the embeddings and of each block, (B, T, D) each; the last is `sequence_output`.
    """

    def __init__(
        self,
        *,
        name: str,
        hidden_dim: int,
        num_layers: int,
        num_heads: int,
        max_sequence_length: int,
        norm: str,
        normalization: str,
        dropout: float,
        layer_norm_epsilon: float,
        initializer_range: float,
        embeddings: dict[str, Any],
        blocks: dict[str, Any],
        each_block: Sequence[Mapping[str, Any]] | None = None,
        num_distinct_blocks: int | None = None,
        windows: Sequence[int | None] | None = None,
        position_bias: keras.layers.Layer | None = None,
    ):
        super().__init__(name=name)
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.max_sequence_length = max_sequence_length
        self.norm = norm
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        if num_distinct_blocks not in (None, num_layers):
            refuse_batch_norm(
                normalization, reason="layers with shared weights have different means, but a single running average"
            )
        self.rotates = blocks["rotary_base"] is not None
        self.windows = windows or [None] * num_layers
        self.position_bias = position_bias
        self.has_vectors = position_bias is None
        common = {"normalization": normalization, "dropout": dropout, "initializer_range": initializer_range}
        with self.name_scope():
            self.embeddings = Embeddings(
                hidden_dim=hidden_dim,
                max_sequence_length=max_sequence_length,
                layer_norm_epsilon=layer_norm_epsilon,
                name="embeddings",
                **common,
                **embeddings,
            )
            options = {"num_heads": num_heads, "norm": norm, "epsilon": layer_norm_epsilon, **common, **blocks}
            self.blocks = [
                TransformerBlock(name=f"block_{index}", **{**options, **(each_block[index] if each_block else {})})
                for index in range(num_distinct_blocks or num_layers)
            ]
            # With pre-norm the output of the last block is not normalized.
            self.final_norm = (
                normalization_layer(normalization, epsilon=layer_norm_epsilon, name="norm") if norm == "pre" else None
            )
            self.pooler = Pooler(initializer_range=initializer_range, name="pooler")
            self.embeddings.build((None, None))
            for layer in (self.position_bias, *self.blocks, self.final_norm, self.pooler):
                if layer is not None:
                    layer.build((None, None, hidden_dim))
        self.built = True

    @property
    def token_embeddings(self) -> EmbeddingTable:
        return self.embeddings.token

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        token_ids, sequence_ids = features[feature_names.TOKEN_IDS], features.get(feature_names.SEQUENCE_IDS)
        padding_mask = features.get(feature_names.PADDING_MASK)
        if padding_mask is None and sequence_ids is not None:
            padding_mask = sequence_ids > 0
        positions = None if sequence_ids is None else restarting(sequence_ids)
        if positions is None and self.rotates:
            positions = ops.arange(ops.shape(token_ids)[1])[None]
        x = self.embeddings(
            token_ids,
            features.get(feature_names.SEGMENT_IDS),
            indices=positions,
            vectors=features.get(feature_names.TOKEN_VECTORS),
            padding_mask=padding_mask,
            training=training,
        )
        mask = masks.bidirectional(padding_mask, sequence_ids)
        length = ops.shape(token_ids)[1]
        visible = {size: masks.combine(mask, masks.within(length, size)) for size in {*self.windows} - {None}}
        bias = None if self.position_bias is None else self.attention_bias(x, training=training)
        options = {"attention_bias": bias, "positions": positions, "padding_mask": padding_mask, "training": training}
        hidden_states = [x]
        for layer in range(self.num_layers):
            block = self.blocks[layer * len(self.blocks) // self.num_layers]
            seen = visible.get(self.windows[layer], mask)
            x = block(x, attention_mask=seen, record=recorded(record, ENCODER), **options)
            hidden_states.append(x)
        if self.final_norm is not None:
            hidden_states[-1] = self.final_norm(x, padding_mask=padding_mask, training=training)
        return {
            feature_names.SEQUENCE_OUTPUT: hidden_states[-1],
            feature_names.POOLED_OUTPUT: self.pooler(hidden_states[-1]),
            feature_names.HIDDEN_STATES: hidden_states,
        }

    def attention_bias(self, x: Any, training: bool = False) -> Any:
        """Compute the `attention_bias` of all blocks from the embedded tokens (B, T, D), by `position_bias`."""
        return self.position_bias(x, training=training)

    def vectors_of(self, features: dict[str, Any]) -> Any:
        return self.token_embeddings(features[feature_names.TOKEN_IDS])

    def depth_groups(self) -> list[list[keras.Variable]]:
        top = [*(self.final_norm.trainable_variables if self.final_norm else []), *self.pooler.trainable_variables]
        inputs = [*self.embeddings.trainable_variables]
        inputs += self.position_bias.trainable_variables if self.position_bias else []
        below = [inputs, *(block.trainable_variables for block in self.blocks)]
        return [*below, top] if top else below
