"""BERT."""

from typing import Annotated, Any, Literal

import keras
from pydantic import PositiveFloat, PositiveInt

from tfattn import features as feature_names
from tfattn.config.relations import Divides
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.layers.embeddings import Embeddings, EmbeddingTable
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.pooler import Pooler
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.ops import masks
from tfattn.ops.activations import ACTIVATIONS
from tfattn.ops.attention_record import ENCODER, AttentionRecord, recorded
from tfattn.ops.positions import restarting


class Bert(Attends, PretrainableEncoder):
    """A stack of Transformer encoder blocks over token, position and segment embeddings.

    Its weights are made by the constructor, under names such as `bert/embeddings/token/embeddings` and
    `bert/block_0/attention/qkv/kernel`.

    Masks: what stands at padded positions changes nothing at real ones.

    Args:
        vocabulary_size: the number of token ids; known from the preprocessing.
        hidden_dim: the width D of every position's vector.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        intermediate_dim: the width inside the feed-forward networks, usually 4 * hidden_dim.
        max_sequence_length: the longest sequence in tokens, [CLS] and [SEP] included.
        num_segments: the number of segment ids (a text pair has two).
        dropout: the fraction of embeddings and block outputs that is dropped while training.
        attention_dropout: the fraction of attention weights that is dropped while training; as `dropout` if not given.
        activation: of the feed-forward networks: gelu (exact, as Hugging Face), gelu_approximate (by
            tanh, as google-research/bert), relu; or relu_squared, silu (Swish), sigmoid, tanh; or glu,
            reglu, geglu, swiglu, by which one half of the first map gates the other.
        norm: "post" normalizes after each residual connection, as the original; "pre" before each part, which trains
            deep stacks from scratch more easily.
        normalization: "layer_norm" or "rms_norm"; or "none". "batch_norm" is refused, with the reason.
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which weights are initialized.

    Call arguments:
        features: `token_ids` (B, T) int; optional `padding_mask` (B, T) bool, True at real tokens, `segment_ids` (B, T)
            int, and where texts are packed `sequence_ids` (B, T) int, of which text each token is, 0 where padded.
        record: told what each layer attends to, see `AttentionRecord`.

    Returns:
        a dictionary of `sequence_output` (B, T, D), `pooled_output` (B, D) and `hidden_states`, a list of what the
        embeddings and each block return, (B, T, D) each; the last is `sequence_output`.

    Example:
        >>> bert = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> bert({"token_ids": keras.ops.ones((1, 5), "int32")})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: Devlin et al. 2018, "BERT: pre-training of deep bidirectional Transformers for language understanding".
    """

    def __init__(
        self,
        *,
        vocabulary_size: Size[int],
        hidden_dim: PositiveInt,
        num_layers: Depth,
        num_heads: Annotated[PositiveInt, Divides("hidden_dim")],
        intermediate_dim: PositiveInt,
        max_sequence_length: PositiveInt = 512,
        num_segments: PositiveInt = 2,
        dropout: Rate = 0.1,
        attention_dropout: Rate | None = None,
        activation: Activation = "gelu",
        norm: Literal["post", "pre"] = "post",
        normalization: Normalization = "layer_norm",
        layer_norm_epsilon: PositiveFloat = 1e-12,
        initializer_range: PositiveFloat = 0.02,
    ):
        super().__init__(name="bert")
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.max_sequence_length = max_sequence_length
        self.norm = norm
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.head_activation = activation if activation in ACTIVATIONS else "gelu"
        with self.name_scope():
            common = {"normalization": normalization, "initializer_range": initializer_range}
            self.embeddings = Embeddings(
                vocabulary_size=vocabulary_size,
                hidden_dim=hidden_dim,
                max_sequence_length=max_sequence_length,
                num_segments=num_segments,
                dropout=dropout,
                layer_norm_epsilon=layer_norm_epsilon,
                name="embeddings",
                **common,
            )
            self.blocks = [
                TransformerBlock(
                    num_heads=num_heads,
                    intermediate_dim=intermediate_dim,
                    dropout=dropout,
                    attention_dropout=dropout if attention_dropout is None else attention_dropout,
                    activation=activation,
                    norm=norm,
                    epsilon=layer_norm_epsilon,
                    name=f"block_{index}",
                    **common,
                )
                for index in range(num_layers)
            ]
            # With pre-norm nothing has normalized the last sum.
            self.final_norm = (
                normalization_layer(normalization, epsilon=layer_norm_epsilon, name="norm") if norm == "pre" else None
            )
            self.pooler = Pooler(initializer_range=initializer_range, name="pooler")
            self.embeddings.build((None, None))
            for layer in (*self.blocks, *([self.final_norm] if self.final_norm else []), self.pooler):
                layer.build((None, None, hidden_dim))
        self.built = True

    @property
    def token_embeddings(self) -> EmbeddingTable:
        return self.embeddings.token

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        packed = features.get(feature_names.SEQUENCE_IDS)
        x = self.embeddings(
            features[feature_names.TOKEN_IDS],
            features.get(feature_names.SEGMENT_IDS),
            indices=None if packed is None else restarting(packed),
            vectors=features.get(feature_names.TOKEN_VECTORS),
            training=training,
        )
        mask = masks.bidirectional(features.get(feature_names.PADDING_MASK), packed)
        hidden_states = [x]
        for block in self.blocks:
            told = recorded(record, ENCODER)
            hidden_states.append(block(hidden_states[-1], attention_mask=mask, record=told, training=training))
        if self.final_norm is not None:
            hidden_states[-1] = self.final_norm(hidden_states[-1])
        return {
            feature_names.SEQUENCE_OUTPUT: hidden_states[-1],
            feature_names.POOLED_OUTPUT: self.pooler(hidden_states[-1]),
            feature_names.HIDDEN_STATES: hidden_states,
        }

    def vectors_of(self, features: dict[str, Any]) -> Any:
        return self.token_embeddings(features[feature_names.TOKEN_IDS])

    def depth_groups(self) -> list[list[keras.Variable]]:
        top = [*(self.final_norm.trainable_variables if self.final_norm else []), *self.pooler.trainable_variables]
        below = [layer.trainable_variables for layer in (self.embeddings, *self.blocks)]
        return [*below, top] if top else below
