"""Character-based word representations: convolutions, highway layers and a projection."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tfattn.layers.embeddings import EmbeddingTable
from tfattn.layers.projection import Projection

NUM_CHARACTERS = 262  # 256 bytes, five marks, and 0 for padding
BEYOND = 261  # the character after the end of a word


class Highway(keras.layers.Layer):
    """A highway layer: (..., D) -> (..., D).

    With a gate g = sigmoid(x W_g + b_g), y = g relu(x W + b) + (1 - g) x. The gate starts nearly shut.

    Example:
        >>> Highway()(keras.ops.ones((2, 8))).shape
        TensorShape([2, 8])

    Source: Srivastava et al. 2015, "Highway networks", eq. 3.
    """

    def build(self, input_shape: tuple) -> None:
        common = {"units": input_shape[-1], "initializer_range": None, "dtype": self.dtype_policy}
        self.transform = Projection(name="transform", **common)
        self.gate = Projection(name="gate", **common)
        for layer in (self.transform, self.gate):
            layer.build(input_shape)
        self.gate.bias.assign(ops.full((input_shape[-1],), -2.0))

    def call(self, x: Any) -> Any:
        gate = ops.sigmoid(self.gate(x))
        return gate * ops.relu(self.transform(x)) + (1 - gate) * x


class CharacterWords(keras.layers.Layer):
    """A character CNN for words: (N, W) int -> (N, P).

    Convolutions are followed by maximum pooling over all positions of a word, its padding included. Words are
    independent of each other. Columns that are padding for all words may be removed, except for the width of the widest
    filter.

    Args:
        units: P.
        character_dim: the width of character embeddings.
        filters: pairs of a filter width, in characters, and the number of filters of this width.
        num_highways: the number of highway layers.
        activation: the activation of the convolutions: relu or tanh.

    Call arguments:
        character_ids: (N, W) int, W at least the widest filter; 0 and 261 are padding.

    Example:
        >>> layer = CharacterWords(units=8, character_dim=4, filters=[[1, 4], [2, 6]], num_highways=1)
        >>> layer(keras.ops.ones((3, 5), "int32")).shape
        TensorShape([3, 8])

    Source: Kim et al. 2016, "Character-aware neural language models", section 2.2; Peters et al. 2018, "Deep
    contextualized word representations".
    """

    def __init__(
        self,
        *,
        units: int,
        character_dim: int,
        filters: Sequence[Sequence[int]],
        num_highways: int,
        activation: str = "relu",
        **kwargs: Any,
    ):
        super().__init__(autocast=False, **kwargs)
        self.units = units
        self.character_dim = character_dim
        self.filters = [list(pair) for pair in filters]
        self.num_highways = num_highways
        self.activation = activation

    def build(self, input_shape: tuple | None = None) -> None:
        policy = {"dtype": self.dtype_policy}
        # A filter sums the vectors of up to seven characters, so character vectors are larger than token vectors.
        self.characters = EmbeddingTable(
            num_rows=NUM_CHARACTERS, width=self.character_dim, initializer_range=0.5, name="characters"
        )
        self.characters.build()
        uniform = keras.initializers.GlorotUniform
        self.kernels, self.biases = [], []
        for number, (width, count) in enumerate(self.filters):
            shape = (width, self.character_dim, count)
            self.kernels.append(self.add_weight(name=f"kernel_{number}", shape=shape, initializer=uniform()))
            self.biases.append(self.add_weight(name=f"bias_{number}", shape=(count,), initializer="zeros"))
        total = sum(count for _, count in self.filters)
        self.highways = [Highway(name=f"highway_{number}", **policy) for number in range(self.num_highways)]
        for layer in self.highways:
            layer.build((None, total))
        self.projection = Projection(units=self.units, initializer_range=None, name="projection", **policy)
        self.projection.build((None, total))

    def call(self, character_ids: Any) -> Any:
        ids = ops.where(character_ids == 0, BEYOND, character_ids)
        characters = ops.cast(self.characters(ids), self.compute_dtype)  # (N, W) -> (N, W, C)
        activation = getattr(ops, self.activation)
        features = []
        for kernel, bias in zip(self.kernels, self.biases, strict=True):
            kernel, bias = ops.cast(kernel, self.compute_dtype), ops.cast(bias, self.compute_dtype)
            # The activation is monotonic and can be applied after the maximum: (N, W - width + 1, F) -> (N, F)
            largest = ops.max(ops.conv(characters, kernel, padding="valid"), axis=1)
            features.append(activation(largest + bias))
        x = ops.concatenate(features, axis=-1)
        for layer in self.highways:
            x = layer(x)
        return self.projection(x)
