"""BERT, an encoder with learned positions and post-norm blocks, and the encoders that differ from it in options."""

from typing import Annotated, Any, Literal

from keras import ops
from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.relations import AtMost, Divides
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.layers.relative_bias import RelativeBias
from tfattn.models.encoder_stack import EncoderStack
from tfattn.ops.activations import ACTIVATIONS


class Bert(EncoderStack):
    """A stack of Transformer encoder blocks over token, position and segment embeddings.

    Its weights are made by the constructor, under names such as `bert/embeddings/token/embeddings` and
    `bert/block_0/attention/qkv/kernel`.

    Published encoders that differ from BERT in options:

        RoBERTa, XLM-R    num_segments: 1
        DistilBERT        num_segments: 0
        ELECTRA           embedding_dim, if it is smaller
        ALBERT            embedding_dim: 128, num_distinct_blocks: 1
        MPNet             num_segments: 0, position_buckets: 32

    Masks: padded positions never change the outputs at real positions.

    Args:
        vocabulary_size: the number of token ids; known from the preprocessing.
        hidden_dim: the width D of every position's vector.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        intermediate_dim: the width inside the feed-forward networks, usually 4 * hidden_dim.
        max_sequence_length: the longest sequence in tokens, [CLS] and [SEP] included.
        num_segments: the number of segment ids (a text pair has two); 0 reads no segment ids.
        embedding_dim: the width of the embeddings, which are projected to hidden_dim; by default hidden_dim.
        num_distinct_blocks: the number of blocks with weights of their own; each computes an equal number of
            consecutive layers. By default num_layers.
        position_buckets: the number of ranges of distances between tokens; each head adds a learned number for each
            range to the scores of attention, in all blocks. By default there are none.
        dropout: the fraction of embeddings and block outputs that is dropped in training.
        attention_dropout: the fraction of attention weights that is dropped in training; by default `dropout`.
        activation: the activation of the feed-forward networks: gelu (exact, as Hugging Face), gelu_approximate (by
            tanh, as google-research/bert), relu; or relu_squared, silu (Swish), sigmoid, tanh; or the gated glu, reglu,
            geglu, swiglu.
        norm: "post" normalizes after each residual connection, as the original; "pre" before each sublayer, which
            trains deep stacks from scratch more easily.
        normalization: "layer_norm", "layer_norm_no_bias", "rms_norm" or "batch_norm"; or "none".
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which weights are initialized.

    Call arguments:
        features: `token_ids` (B, T) int; optional `padding_mask` (B, T) bool, True at real tokens, `segment_ids` (B, T)
            int, and for packed texts `sequence_ids` (B, T) int, the text of each token, 0 at padding.
        record: records the attention of each layer, see `AttentionRecord`.

    Returns:
        a dictionary of `sequence_output` (B, T, D), `pooled_output` (B, D) and `hidden_states`, a list of the outputs
        of the embeddings and of each block, (B, T, D) each; the last is `sequence_output`.

    Example:
        >>> import keras
        >>> bert = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> bert({"token_ids": keras.ops.ones((1, 5), "int32")})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: Devlin et al. 2018, "BERT: pre-training of deep bidirectional Transformers for language understanding"; Liu
    et al. 2019, "RoBERTa"; Conneau et al. 2020, "Unsupervised cross-lingual representation learning at scale" (XLM-R);
    Sanh et al. 2019, "DistilBERT"; Clark et al. 2020, "ELECTRA"; Lan et al. 2020, "ALBERT"; Song et al. 2020, "MPNet".
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
        num_segments: Annotated[int, Field(ge=0)] = 2,
        embedding_dim: PositiveInt | None = None,
        num_distinct_blocks: Annotated[PositiveInt | None, AtMost("num_layers")] = None,
        position_buckets: Annotated[int, Field(ge=4, multiple_of=4)] | None = None,
        dropout: Rate = 0.1,
        attention_dropout: Rate | None = None,
        activation: Activation = "gelu",
        norm: Literal["post", "pre"] = "post",
        normalization: Normalization = "layer_norm",
        layer_norm_epsilon: PositiveFloat = 1e-12,
        initializer_range: PositiveFloat = 0.02,
    ):
        super().__init__(
            name="bert",
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            num_heads=num_heads,
            max_sequence_length=max_sequence_length,
            norm=norm,
            normalization=normalization,
            dropout=dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            initializer_range=initializer_range,
            embeddings={
                "vocabulary_size": vocabulary_size,
                "num_segments": num_segments,
                "embedding_dim": embedding_dim,
            },
            blocks={
                "intermediate_dim": intermediate_dim,
                "activation": activation,
                "rotary_base": None,
                "attention_dropout": dropout if attention_dropout is None else attention_dropout,
            },
            num_distinct_blocks=num_distinct_blocks,
            position_bias=None
            if position_buckets is None
            else RelativeBias(
                num_heads=num_heads,
                num_buckets=position_buckets,
                initializer_range=initializer_range,
                name="position_bias",
            ),
        )
        self.head_activation = activation if activation in ACTIVATIONS else "gelu"

    def attention_bias(self, x: Any, training: bool = False) -> Any:
        positions = ops.arange(ops.shape(x)[1])
        return self.position_bias(positions, positions)
