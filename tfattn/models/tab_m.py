"""TabM: an ensemble of multilayer perceptrons in one model, whose members share most weights."""

from typing import Any

import keras
from keras import ops
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from tfattn.config.types import Depth, Rate, Size
from tfattn.features import POOLED_OUTPUT
from tfattn.layers.dropout import Dropout
from tfattn.layers.member_dense import MemberDense
from tfattn.models.tokenized_table import NumericEmbedding, TokenizedTable


class TabM(TokenizedTable):
    """TabM: K multilayer perceptrons that share their kernels and differ by scales and biases.

    The tokens of all columns are concatenated and read by each member. A member has its own head in the task. In
    training the loss of a row is the mean over members, and its prediction is the mean of their predictions.

    Masks: none; a row has all its columns, and a missing number has its own token.

    Args:
        num_numeric: N, the number of numeric columns; known from the data.
        category_counts: the number of ids of each of the M categorical columns; known from the data.
        num_bins: Q, the number of bins of each numeric column in `piecewise`; known from the preprocessor.
        num_members: K, the number of members.
        hidden_dim: the width D of all layers.
        num_layers: the number of layers.
        embedding_dim: the width of tokens.
        numeric_embedding: how a number becomes a token: "linear", "piecewise_linear" over the preprocessor's bins, or
            "periodic", by sines and cosines of learned frequencies.
        num_frequencies: the number of frequencies of a column, where periodic.
        frequency_scale: the standard deviation with which frequencies are initialized.
        dropout: the fraction of layer outputs that is dropped in training.

    Call arguments:
        features: `numeric` (B, N) or, for piecewise_linear, `piecewise` (B, N Q); optional `missing` (B, N); and
            `category_ids` (B, M) int.

    Returns:
        a dictionary of `pooled_output` (B, K, D).

    Raises:
        ConfigError: the preprocessor makes no bins for piecewise_linear, or there is no column.

    Example:
        >>> model = TabM(num_numeric=3, category_counts=[4, 9], num_members=4, hidden_dim=8)
        >>> row = {"numeric": keras.ops.ones((1, 3)), "category_ids": keras.ops.ones((1, 2), "int32")}
        >>> model(row)["pooled_output"].shape
        TensorShape([1, 4, 8])

    Source: Gorishniy, Kotelnikov and Babenko 2025, "TabM: advancing tabular deep learning with parameter-efficient
    ensembling", section 3.3. Unlike in the paper, categories are embedded instead of one-hot, and the scales of members
    are excluded from weight decay.
    """

    def __init__(
        self,
        *,
        num_numeric: Size[NonNegativeInt],
        category_counts: Size[list[PositiveInt]],
        num_bins: Size[NonNegativeInt] = 0,
        num_members: PositiveInt = 32,
        hidden_dim: PositiveInt = 256,
        num_layers: Depth = 2,
        embedding_dim: PositiveInt = 16,
        numeric_embedding: NumericEmbedding = "linear",
        num_frequencies: PositiveInt = 24,
        frequency_scale: PositiveFloat = 0.1,
        dropout: Rate = 0.1,
    ):
        # Inputs are not cast to the compute type: numbers are embedded in float32.
        super().__init__(name="tab_m", autocast=False)
        self.num_members = num_members
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        with self.name_scope():
            self.build_tokens(
                num_numeric=num_numeric,
                category_counts=category_counts,
                num_bins=num_bins,
                width=embedding_dim,
                numeric_embedding=numeric_embedding,
                num_frequencies=num_frequencies,
                frequency_scale=frequency_scale,
            )
            num_columns = num_numeric + len(category_counts)
            self.layers_of_members = [
                MemberDense(
                    units=hidden_dim,
                    num_members=num_members,
                    num_groups=num_columns if index == 0 else 1,
                    input_scales="ones" if index else "normal",
                    name=f"layer_{index}",
                )
                for index in range(num_layers)
            ]
            for index, layer in enumerate(self.layers_of_members):
                layer.build((None, num_members, hidden_dim if index else num_columns * embedding_dim))
            self.dropout = Dropout(dropout, name="dropout")
            self.dropout.build((None, num_members, hidden_dim))
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        tokens = self.vectors_of(features)
        x = ops.reshape(tokens, (-1, 1, tokens.shape[1] * tokens.shape[2]))  # the same for all members
        for layer in self.layers_of_members:
            x = self.dropout(ops.relu(layer(x)), training=training)
        return {POOLED_OUTPUT: x}

    def depth_groups(self) -> list[list[keras.Variable]]:
        tokens = [variable for layer in self.tokens for variable in layer.trainable_variables]
        return [tokens, *(layer.trainable_variables for layer in self.layers_of_members)]
