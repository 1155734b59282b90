"""BERT with rotary positions, gated feed-forward networks and pre-norm blocks."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.relations import Divides
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.layers.positions import check_heads
from tfattn.models.encoder_stack import EncoderStack
from tfattn.ops.positions import BASE


class ModernBert(EncoderStack):
    """A stack of pre-norm encoder blocks with gated feed-forward networks and rotary positions, without biases.

    Each of these parts can be configured independently. The names of its weights are those of Bert. The published
    ModernBERT has `local_attention: 128`, `rotary_base: 160000`, `local_rotary_base: 10000`, `num_segments: 0`,
    `normalization: layer_norm_no_bias`, `first_norm: false` and `head_bias: false`.

    Masks: padded positions never change the outputs at real positions; texts packed into a row do not see each other.

    Args:
        vocabulary_size: the number of token ids; known from the preprocessing.
        hidden_dim: the width D of every position's vector.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        intermediate_dim: the width inside the feed-forward networks. A gated network has 1.5 times the weights of an
            ungated network of the same width: 8 / 3 of hidden_dim makes it as large as BERT's.
        max_sequence_length: the longest sequence in tokens, [CLS] and [SEP] included.
        num_segments: the number of segment ids (a text pair has two); 0 reads no segment ids.
        local_attention: the number of neighbors that a token sees in local layers, half of them on each side; by
            default every layer sees the whole text.
        global_attention_every: with local attention, every n-th layer, from the first, sees the whole text.
        rotary_base: the base of the angles of rotary positions; a larger base is for longer texts.
        local_rotary_base: the base in local layers; by default rotary_base.
        activation: the gated geglu, swiglu, reglu or glu; or gelu, gelu_approximate, relu, relu_squared, silu (Swish),
            sigmoid, tanh.
        positions: "rotary" rotates queries and keys; "learned" adds a table's rows, as BERT does.
        normalization: "layer_norm", "layer_norm_no_bias", "rms_norm" or "batch_norm"; or "none".
        first_norm: whether the first block normalizes its input, although the embeddings are normalized.
        use_bias: whether the linear maps of the blocks add a learned vector.
        head_bias: whether the dense layer of the masked language modeling head adds a learned vector.
        dropout: the fraction of embeddings and block outputs that is dropped in training.
        attention_dropout: the fraction of attention weights that is dropped in training.
        layer_norm_epsilon: added to the variance, or mean square, before its root is taken.
        initializer_range: the standard deviation with which weights are initialized.

    Call arguments:
        features, record: as Bert.

    Returns:
        a dictionary of `sequence_output` (B, T, D), `pooled_output` (B, D) and `hidden_states`, as Bert.

    Raises:
        ConfigError: heads of rotary positions have an odd width.

    Example:
        >>> import keras
        >>> bert = ModernBert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=24)
        >>> bert({"token_ids": keras.ops.ones((1, 5), "int32")})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: Portes et al. 2023, "MosaicBERT"; Geiping and Goldstein 2022, "Cramming"; Warner et al. 2024, "Smarter,
    better, faster, longer" (ModernBERT). By default, unlike these models, it has segments, and every layer sees the
    whole text.
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
        num_segments: Annotated[int, Field(ge=0)] = 2,
        local_attention: Annotated[int, Field(ge=2)] | None = None,
        global_attention_every: PositiveInt = 3,
        rotary_base: PositiveFloat = BASE,
        local_rotary_base: PositiveFloat | None = None,
        activation: Activation = "geglu",
        positions: Literal["rotary", "learned"] = "rotary",
        normalization: Normalization = "rms_norm",
        first_norm: bool = True,
        use_bias: bool = False,
        head_bias: bool = True,
        dropout: Rate = 0.0,
        attention_dropout: Rate = 0.0,
        layer_norm_epsilon: PositiveFloat = 1e-6,
        initializer_range: PositiveFloat = 0.02,
    ):
        check_heads(positions, hidden_dim, num_heads)
        is_local = [bool(local_attention and layer % global_attention_every) for layer in range(num_layers)]
        bases = {False: rotary_base, True: local_rotary_base or rotary_base}
        differences = [{"rotary_base": bases[local]} if positions == "rotary" else {} for local in is_local]
        differences[0] |= {} if first_norm else {"norm": "pre_feed_forward"}
        super().__init__(
            name="modern_bert",
            hidden_dim=hidden_dim,
            num_layers=num_layers,
            num_heads=num_heads,
            max_sequence_length=max_sequence_length,
            norm="pre",
            normalization=normalization,
            dropout=dropout,
            layer_norm_epsilon=layer_norm_epsilon,
            initializer_range=initializer_range,
            embeddings={"vocabulary_size": vocabulary_size, "num_segments": num_segments, "positions": positions},
            blocks={
                "intermediate_dim": intermediate_dim,
                "activation": activation,
                "rotary_base": rotary_base if positions == "rotary" else None,
                "use_bias": use_bias,
                "attention_dropout": attention_dropout,
            },
            each_block=differences,
            windows=[local_attention // 2 if local else None for local in is_local],
        )
        self.head_use_bias = head_bias
        if normalization == "layer_norm_no_bias":
            self.head_normalization = normalization
