"""The feature-map Transformer: a row of numbers as an image, with a bottleneck of a few values."""

from typing import Any, Literal

import keras
from keras import ops
from pydantic import PositiveInt

from tfattn.config.types import Activation, Depth, Normalization, Rate, Size
from tfattn.errors import ConfigError
from tfattn.features import ESSENTIAL_FEATURES, NUMERIC, POOLED_OUTPUT
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.layers.transformer_block import TransformerBlock
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.ops.feature_maps import feature_map, side

CHANNELS = 64
LAYER_NORM_EPSILON = 1e-12
DECIDING_CHANNELS = (128, 64)
POOLED_DIM = 128


class FeatureMapTransformer(TableEncoder):
    """A Transformer encoder over a row's 14 numbers as a 4 x 4 map, with a bottleneck of a few essential features.

    Each row is scaled to its own range (ops.feature_maps) and becomes a map of 16 positions. A 1 x 1 convolution makes
    64 channels, a Transformer encoder relates the positions, a 1 x 1 convolution reduces them to `feature_channels`,
    and 2 x 2 maximum pooling to 4 positions: the essential features. The output depends on these features alone: 1 x 1
    convolutions to 128 and 64 channels, each with ReLU, the mean over the positions, and a dense layer of 128 with
    PReLU.

    The inputs are unscaled numbers: set `scaling: none` in the preprocessor, with factors for columns that are much
    smaller than the others, since a row's largest number sets its scale.

    Masks: none; a missing number is the column's median.

    Args:
        num_numeric: N, the number of numeric columns: 14, or another number that is 2 less than the square of an even
            number; known from the data.
        category_counts: must be empty, since the model cannot read categorical columns; known from the data.
        feature_channels: the number of essential features of each of the 4 positions.
        num_layers: the number of encoder blocks.
        num_heads: attention heads of a block, a divisor of 64.
        intermediate_dim: the width inside the feed-forward networks.
        activation: the activation of the feed-forward networks: relu, relu_squared, gelu, gelu_approximate, silu
            (Swish), sigmoid, tanh; or the gated glu, reglu, geglu, swiglu.
        normalization: "layer_norm", "layer_norm_no_bias", "rms_norm" or "batch_norm"; or "none".
        positions: "learned" adds a vector for each position, which distinguishes the columns; "none" does not.
        dropout: the fraction of block outputs that is dropped in training.

    Call arguments:
        features: `numeric` (B, N).

    Returns:
        a dictionary of `pooled_output` (B, 128) and `essential_features` (B, 4 feature_channels) float32 (more where N
        is above 14), position by position.

    Raises:
        ConfigError: the number of columns does not fill a map, or there are categorical columns.

    Example:
        >>> model = FeatureMapTransformer(num_numeric=14, category_counts=[])
        >>> model({"numeric": keras.random.normal((1, 14))})["essential_features"].shape
        TensorShape([1, 4])

    Source: the recipe of a laboratory's PN_flag classifier, which does not define the encoder's size and positions.
    """

    hidden_dim = POOLED_DIM

    def __init__(
        self,
        *,
        num_numeric: Size[PositiveInt],
        category_counts: Size[list[PositiveInt]],
        feature_channels: PositiveInt = 1,
        num_layers: Depth = 1,
        num_heads: Literal[1, 2, 4, 8, 16, 32, 64] = 4,
        intermediate_dim: PositiveInt = 128,
        activation: Activation = "relu",
        normalization: Normalization = "layer_norm",
        positions: Literal["learned", "none"] = "learned",
        dropout: Rate = 0.1,
    ):
        # Inputs are not cast to the compute type: the scaling is computed in float32.
        super().__init__(name="feature_map_transformer", autocast=False)
        self.feature_channels = feature_channels
        _check(num_numeric, category_counts)
        with self.name_scope():
            edge = side(num_numeric)
            self.expand = _convolution(CHANNELS, "expand")
            self.position = (
                EmbeddingTable(num_rows=edge**2, width=CHANNELS, name="position") if positions == "learned" else None
            )
            self.blocks = [
                TransformerBlock(
                    num_heads=num_heads,
                    intermediate_dim=intermediate_dim,
                    dropout=dropout,
                    attention_dropout=dropout,
                    activation=activation,
                    normalization=normalization,
                    epsilon=LAYER_NORM_EPSILON,
                    name=f"block_{index}",
                )
                for index in range(num_layers)
            ]
            self.reduce = _convolution(feature_channels, "reduce")
            self.pool = keras.layers.MaxPooling2D(2, name="pool")
            self.decide = [
                _convolution(channels, f"decide_{index}", activation="relu")
                for index, channels in enumerate(DECIDING_CHANNELS)
            ]
            self.mean = keras.layers.GlobalAveragePooling2D(name="mean")
            self.dense = keras.layers.Dense(POOLED_DIM, name="dense")
            self.bend = keras.layers.PReLU(alpha_initializer=keras.initializers.Constant(0.25), name="bend")
            self.expand.build((None, edge, edge, 1))
            if self.position is not None:
                self.position.build()
            for block in self.blocks:
                block.build((None, edge**2, CHANNELS))
            self.reduce.build((None, edge, edge, CHANNELS))
            for layer, channels in zip(self.decide, (feature_channels, *DECIDING_CHANNELS), strict=False):
                layer.build((None, edge // 2, edge // 2, channels))
            self.dense.build((None, DECIDING_CHANNELS[-1]))
            self.bend.build((None, POOLED_DIM))
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        x = self.expand(feature_map(features[NUMERIC]))
        _, edge, _, channels = x.shape
        x = ops.reshape(x, (-1, edge**2, channels))  # (B, side, side, 64) -> (B, 16, 64)
        if self.position is not None:
            x = x + ops.cast(self.position.embeddings, x.dtype)
        for block in self.blocks:
            x = block(x, training=training)
        x = self.pool(self.reduce(ops.reshape(x, (-1, edge, edge, channels))))  # (B, 16, 64) -> (B, 2, 2, F)
        essential = ops.reshape(x, (-1, (edge // 2) ** 2 * self.feature_channels))
        for layer in self.decide:
            x = layer(x)
        return {
            POOLED_OUTPUT: self.bend(self.dense(self.mean(x))),
            ESSENTIAL_FEATURES: ops.cast(essential, "float32"),
        }

    def depth_groups(self) -> list[list[keras.Variable]]:
        position = [] if self.position is None else self.position.trainable_variables
        top = [v for layer in (*self.decide, self.dense, self.bend) for v in layer.trainable_variables]
        blocks = [block.trainable_variables for block in self.blocks]
        return [[*self.expand.trainable_variables, *position], *blocks, self.reduce.trainable_variables, top]


def _convolution(channels: int, name: str, **options: Any) -> keras.layers.Layer:
    # Channels last, independent of Keras's global setting.
    return keras.layers.Conv2D(channels, 1, data_format="channels_last", name=name, **options)


def _check(num_numeric: int, category_counts: list[int]) -> None:
    if side(num_numeric) is None:
        raise ConfigError(
            "the numeric columns do not fill a map",
            key="num_numeric",
            expected="14 numeric columns (or 34, 62: 2 less than the square of an even number)",
            received=str(num_numeric),
            remedy="List other columns in the preprocessor, or use the model feature_tokenizer_transformer.",
        )
    if category_counts:
        raise ConfigError(
            "the model reads numbers only",
            key="category_counts",
            expected="no categorical columns",
            received=str(len(category_counts)),
            remedy="Exclude them from the preprocessor, or use the model feature_tokenizer_transformer.",
        )
