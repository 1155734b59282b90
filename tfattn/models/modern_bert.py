"""BERT with the parts of today's small-budget recipes."""

from typing import Annotated, Any, Literal

import keras
from keras import ops
from pydantic import PositiveFloat, PositiveInt

from tfattn import features as feature_names
from tfattn.config.relations import Divides
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.layers.embeddings import Embeddings, EmbeddingTable
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.pooler import Pooler
from tfattn.layers.positions import check_heads
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.ops import masks
from tfattn.ops.attention_record import ENCODER, AttentionRecord, recorded
from tfattn.ops.positions import BASE, restarting


class ModernBert(Attends, PretrainableEncoder):
    """A stack of pre-norm encoder blocks with gated feed-forward networks and rotary positions, without biases.

    Each of these can be chosen by itself. Its weights are made by the constructor, under the names that Bert gives.

    Masks: what stands at padded positions changes nothing at real ones; texts packed into a row do not see each other.

    Args:
        vocabulary_size: the number of token ids; known from the preprocessing.
        hidden_dim: the width D of every position's vector.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        intermediate_dim: the width inside the feed-forward networks. A gated one has half as many weights again as
            another of the same width: 8 / 3 of hidden_dim makes it as large as BERT's.
        max_sequence_length: the longest sequence in tokens, [CLS] and [SEP] included.
        num_segments: the number of segment ids (a text pair has two).
        activation: geglu, swiglu, reglu or glu, by which one half of the first map gates the other; or gelu,
            gelu_approximate, relu, relu_squared, silu (Swish), sigmoid, tanh.
        positions: "rotary" rotates queries and keys; "learned" adds a table's rows, as BERT does.
        normalization: "layer_norm" or "rms_norm"; or "none". "batch_norm" is refused, with the reason.
        use_bias: whether the linear maps of the blocks add a learned vector.
        dropout: the fraction of embeddings and block outputs that is dropped while training.
        attention_dropout: the fraction of attention weights that is dropped while training.
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which weights are initialized.

    Call arguments:
        features, record: as Bert takes them.

    Returns:
        a dictionary of `sequence_output` (B, T, D), `pooled_output` (B, D) and `hidden_states`, as Bert.

    Raises:
        ConfigError: heads of rotary positions have an odd width.

    Example:
        >>> bert = ModernBert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=24)
        >>> bert({"token_ids": keras.ops.ones((1, 5), "int32")})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: Portes et al. 2023, "MosaicBERT"; Geiping and Goldstein 2022, "Cramming"; Warner et al. 2024, "Smarter,
    better, faster, longer" (ModernBERT). It is none of them: segments stay, and every layer sees the whole text.
    """

    head_activation = "gelu"

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
        activation: Activation = "geglu",
        positions: Literal["rotary", "learned"] = "rotary",
        normalization: Normalization = "rms_norm",
        use_bias: bool = False,
        dropout: Rate = 0.0,
        attention_dropout: Rate = 0.0,
        layer_norm_epsilon: PositiveFloat = 1e-6,
        initializer_range: PositiveFloat = 0.02,
    ):
        super().__init__(name="modern_bert")
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.max_sequence_length = max_sequence_length
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        check_heads(positions, hidden_dim, num_heads)
        with self.name_scope():
            common = {
                "normalization": normalization,
                "dropout": dropout,
                "initializer_range": initializer_range,
            }
            self.embeddings = Embeddings(
                vocabulary_size=vocabulary_size,
                hidden_dim=hidden_dim,
                max_sequence_length=max_sequence_length,
                num_segments=num_segments,
                positions=positions,
                layer_norm_epsilon=layer_norm_epsilon,
                name="embeddings",
                **common,
            )
            self.blocks = [
                TransformerBlock(
                    num_heads=num_heads,
                    intermediate_dim=intermediate_dim,
                    norm="pre",
                    activation=activation,
                    rotary_base=BASE if positions == "rotary" else None,
                    use_bias=use_bias,
                    epsilon=layer_norm_epsilon,
                    attention_dropout=attention_dropout,
                    name=f"block_{index}",
                    **common,
                )
                for index in range(num_layers)
            ]
            self.final_norm = normalization_layer(normalization, epsilon=layer_norm_epsilon, name="norm")
            self.pooler = Pooler(initializer_range=initializer_range, name="pooler")
            self.embeddings.build((None, None))
            for layer in (*self.blocks, self.final_norm, self.pooler):
                layer.build((None, None, hidden_dim))
        self.built = True

    @property
    def token_embeddings(self) -> EmbeddingTable:
        return self.embeddings.token

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        token_ids, packed = features[feature_names.TOKEN_IDS], features.get(feature_names.SEQUENCE_IDS)
        indices = ops.arange(ops.shape(token_ids)[1])[None] if packed is None else restarting(packed)
        x = self.embeddings(
            token_ids,
            features.get(feature_names.SEGMENT_IDS),
            indices=indices,
            vectors=features.get(feature_names.TOKEN_VECTORS),
            training=training,
        )
        mask = masks.bidirectional(features.get(feature_names.PADDING_MASK), packed)
        hidden_states = [x]
        for block in self.blocks:
            told = recorded(record, ENCODER)
            x = block(hidden_states[-1], attention_mask=mask, positions=indices, record=told, training=training)
            hidden_states.append(x)
        hidden_states[-1] = self.final_norm(hidden_states[-1])
        return {
            feature_names.SEQUENCE_OUTPUT: hidden_states[-1],
            feature_names.POOLED_OUTPUT: self.pooler(hidden_states[-1]),
            feature_names.HIDDEN_STATES: hidden_states,
        }

    def vectors_of(self, features: dict[str, Any]) -> Any:
        return self.token_embeddings(features[feature_names.TOKEN_IDS])

    def depth_groups(self) -> list[list[keras.Variable]]:
        top = [*self.final_norm.trainable_variables, *self.pooler.trainable_variables]
        return [*(layer.trainable_variables for layer in (self.embeddings, *self.blocks)), top]
