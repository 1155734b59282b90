"""FT-Transformer: attention between the columns of a table."""

from typing import Annotated, Any

import keras
from keras import ops
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from tfattn.config.relations import Divides
from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.features import COLUMN_ATTENTION, POOLED_OUTPUT
from tfattn.layers.column_tokens import ClassToken
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.attends import Attends
from tfattn.models.tokenized_table import NumericEmbedding, TokenizedTable
from tfattn.ops.attention_record import ENCODER, AttentionRecord, recorded

LAYER_NORM_EPSILON = 1e-5


class FeatureTokenizerTransformer(TokenizedTable, Attends):
    """FT-Transformer: a token for each column and [CLS], whose vector after pre-norm encoder blocks represents the row.

    The model has no positions: columns differ by their weights alone. In the last block [CLS] is the only query, since
    the outputs of the other tokens are not used.

    Masks: none; a row has all its columns, and a missing number has its own token.

    Args:
        num_numeric: N, the number of numeric columns; known from the data.
        category_counts: the number of ids of each of the M categorical columns; known from the data.
        num_bins: Q, the number of bins of each numeric column in `piecewise`; known from the preprocessor.
        hidden_dim: the width D of tokens.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of hidden_dim.
        intermediate_dim: the width inside the feed-forward networks; 4/3 of hidden_dim if not given.
        numeric_embedding: how a number becomes a token: "linear", "piecewise_linear" over the preprocessor's bins, or
            "periodic", by sines and cosines of learned frequencies.
        activation: the activation of the feed-forward networks: the gated reglu, glu, geglu or swiglu; or gelu,
            gelu_approximate, relu, relu_squared, silu (Swish), sigmoid, tanh.
        normalization: "layer_norm", "layer_norm_no_bias", "rms_norm" or "batch_norm"; or "none".
        num_frequencies: the number of frequencies of a column, where periodic.
        frequency_scale: the standard deviation with which frequencies are initialized.
        dropout: the fraction of block outputs that is dropped in training.
        attention_dropout: the fraction of attention weights that is dropped in training.
        intermediate_dropout: the fraction that is dropped in training inside the feed-forward networks.

    Call arguments:
        features: `numeric` (B, N) or, for piecewise_linear, `piecewise` (B, N Q); optional `missing` (B, N); and
            `category_ids` (B, M) int.
        record: records the attention of each layer, see `AttentionRecord`.

    Returns:
        a dictionary of `pooled_output` (B, D) and `column_attention` (B, N + M) float32: the attention weights of the
        columns for the query [CLS], numeric ones first, as the mean over heads and blocks; they sum to 1.

    Raises:
        ConfigError: the preprocessor makes no bins for piecewise_linear, or there is no column.

    Example:
        >>> model = FeatureTokenizerTransformer(num_numeric=3, category_counts=[4, 9], hidden_dim=8, num_heads=2)
        >>> row = {"numeric": keras.ops.ones((1, 3)), "category_ids": keras.ops.ones((1, 2), "int32")}
        >>> model(row)["column_attention"].shape
        TensorShape([1, 5])

    Source: Gorishniy et al. 2021, "Revisiting deep learning models for tabular data", sections 3.3 and 5.3; numeric
    embeddings: Gorishniy et al. 2022, "On embeddings for numerical features in tabular deep learning". Unlike in the
    paper's attention maps, the weight of [CLS] itself is excluded.
    """

    def __init__(
        self,
        *,
        num_numeric: Size[NonNegativeInt],
        category_counts: Size[list[PositiveInt]],
        num_bins: Size[NonNegativeInt] = 0,
        hidden_dim: PositiveInt = 192,
        num_layers: Depth = 3,
        num_heads: Annotated[PositiveInt, Divides("hidden_dim")] = 8,
        intermediate_dim: PositiveInt | None = None,
        numeric_embedding: NumericEmbedding = "linear",
        activation: Activation = "reglu",
        normalization: Normalization = "layer_norm",
        num_frequencies: PositiveInt = 24,
        frequency_scale: PositiveFloat = 0.1,
        dropout: Rate = 0.0,
        attention_dropout: Rate = 0.2,
        intermediate_dropout: Rate = 0.1,
    ):
        # Inputs are not cast to the compute type: numbers are embedded in float32.
        super().__init__(name="feature_tokenizer_transformer", autocast=False)
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        with self.name_scope():
            self.build_tokens(
                num_numeric=num_numeric,
                category_counts=category_counts,
                num_bins=num_bins,
                width=hidden_dim,
                numeric_embedding=numeric_embedding,
                num_frequencies=num_frequencies,
                frequency_scale=frequency_scale,
            )
            self.class_token = ClassToken(name="class_token")
            self.tokens.append(self.class_token)
            self.blocks = [
                TransformerBlock(
                    num_heads=num_heads,
                    intermediate_dim=intermediate_dim or hidden_dim * 4 // 3,
                    dropout=dropout,
                    attention_dropout=attention_dropout,
                    intermediate_dropout=intermediate_dropout,
                    activation=activation,
                    normalization=normalization,
                    norm="pre" if index else "pre_feed_forward",
                    epsilon=LAYER_NORM_EPSILON,
                    # The variance of a uniform distribution between -1/sqrt(D) and 1/sqrt(D).
                    initializer_range=(3 * hidden_dim) ** -0.5,
                    name=f"block_{index}",
                )
                for index in range(num_layers)
            ]
            self.norm = normalization_layer(normalization, epsilon=LAYER_NORM_EPSILON, name="norm")
            for layer in (self.class_token, *self.blocks, self.norm):
                layer.build((None, 1 + num_numeric + len(category_counts), hidden_dim))
        self.built = True

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        x = self.class_token(self.token_vectors(features))
        attention = 0.0
        for block in self.blocks:
            # The attention of the other tokens in the last block is computed only to be recorded.
            x, weights = block(
                x,
                num_queries=1 if block is self.blocks[-1] and record is None else None,
                return_attention_scores=True,
                record=recorded(record, ENCODER),
                training=training,
            )
            attention = attention + ops.cast(weights[:, :, 0, 1:], "float32")  # (B, H, T, T) -> (B, H, N + M)
        attention = ops.sum(attention, axis=1)
        return {
            POOLED_OUTPUT: ops.relu(self.norm(x[:, 0], training=training)),
            COLUMN_ATTENTION: attention / ops.sum(attention, axis=-1, keepdims=True),
        }

    def depth_groups(self) -> list[list[keras.Variable]]:
        tokens = [variable for layer in self.tokens for variable in layer.trainable_variables]
        return [tokens, *(block.trainable_variables for block in self.blocks), self.norm.trainable_variables]
