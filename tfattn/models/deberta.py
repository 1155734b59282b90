"""DeBERTa, an encoder with disentangled relative positions."""

from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.relations import Divides
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.layers.disentangled_bias import DisentangledBias
from tfattn.models.encoder_stack import EncoderStack
from tfattn.ops.activations import ACTIVATIONS


class Deberta(EncoderStack):
    """A stack of post-norm encoder blocks whose scores depend on the contents and the relative positions of tokens.

    Token vectors have no positions and, by default, no segments. The layout is DeBERTa v3's: queries and keys of
    relative positions are computed by the projections of each block, `embeddings` and blocks are Bert's.

    Masks: padded positions never change the outputs at real positions; texts packed into a row do not see each other.

    Args:
        vocabulary_size: the number of token ids; known from the preprocessing.
        hidden_dim: the width D of every position's vector.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        intermediate_dim: the width inside the feed-forward networks, usually 4 * hidden_dim.
        max_sequence_length: the longest sequence in tokens, [CLS] and [SEP] included.
        position_buckets: the number of vectors of relative positions in each direction: distances up to half of it have
            their own vectors, longer distances share vectors.
        max_relative_positions: the distance from which on all distances share one vector.
        num_segments: the number of segment ids (a text pair has two); 0 reads no segment ids, as DeBERTa v3.
        dropout: the fraction of embeddings, relative positions and block outputs that is dropped in training.
        attention_dropout: the fraction of attention weights that is dropped in training; by default `dropout`.
        activation: as Bert.
        normalization: "layer_norm", "layer_norm_no_bias", "rms_norm" or "batch_norm"; or "none".
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which weights are initialized.

    Call arguments:
        features, record: as Bert; only the attention weights are recorded, without queries and keys.

    Returns:
        a dictionary of `sequence_output` (B, T, D), `pooled_output` (B, D) and `hidden_states`, as Bert.

    Example:
        >>> import keras
        >>> deberta = Deberta(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> deberta({"token_ids": keras.ops.ones((1, 5), "int32")})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: He et al. 2021, "DeBERTa: decoding-enhanced BERT with disentangled attention"; He et al. 2023, "DeBERTaV3".
    The pooler is Bert's, and there is no enhanced mask decoder: DeBERTa v3 is not pretrained with it.
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
        position_buckets: Annotated[int, Field(ge=2)] = 256,
        max_relative_positions: Annotated[int, Field(ge=2)] = 512,
        num_segments: Annotated[int, Field(ge=0)] = 0,
        dropout: Rate = 0.1,
        attention_dropout: Rate | None = None,
        activation: Activation = "gelu",
        normalization: Normalization = "layer_norm",
        layer_norm_epsilon: PositiveFloat = 1e-7,
        initializer_range: PositiveFloat = 0.02,
    ):
        super().__init__(
            name="deberta",
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            num_heads=num_heads,
            max_sequence_length=max_sequence_length,
            norm="post",
            normalization=normalization,
            dropout=dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            initializer_range=initializer_range,
            embeddings={"vocabulary_size": vocabulary_size, "num_segments": num_segments, "positions": "relative"},
            blocks={
                "intermediate_dim": intermediate_dim,
                "activation": activation,
                "rotary_base": None,
                "scale": DisentangledBias.scale_of(hidden_dim // num_heads),
                "attention_dropout": dropout if attention_dropout is None else attention_dropout,
            },
            position_bias=DisentangledBias(
                num_buckets=position_buckets,
                max_distance=max_relative_positions,
                # Its table of positions has no batch.
                normalization="layer_norm" if normalization == "batch_norm" else normalization,
                dropout=dropout,
                epsilon=layer_norm_epsilon,
                initializer_range=initializer_range,
                name="position_bias",
            ),
        )
        self.head_activation = activation if activation in ACTIVATIONS else "gelu"
