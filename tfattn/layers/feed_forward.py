"""The position-wise feed-forward network of a Transformer block."""

from typing import Any

import keras

from tfattn.layers.projection import Projection
from tfattn.ops.activations import ACTIVATIONS


class FeedForward(keras.layers.Layer):
    """Widens each position's vector, bends it, and narrows it back: (B, T, D) -> (B, T, D).

    Masks: positions are independent of each other.

    Args:
        intermediate_dim: the width in between.
        activation: gelu, gelu_approximate or relu.
        initializer_range: the standard deviation of the kernels' truncated normal distribution.

    Example:
        >>> layer = FeedForward(intermediate_dim=32)
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", eq. 2; GELU as in BERT.
    """

    def __init__(
        self, *, intermediate_dim: int, activation: str = "gelu", initializer_range: float = 0.02, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        common = {"initializer_range": self.initializer_range, "dtype": self.dtype_policy}
        self.intermediate = Projection(units=self.intermediate_dim, name="intermediate", **common)
        self.intermediate.build(input_shape)
        self.output_projection = Projection(units=input_shape[-1], name="output", **common)
        self.output_projection.build((*input_shape[:-1], self.intermediate_dim))

    def call(self, x: Any) -> Any:
        return self.output_projection(ACTIVATIONS[self.activation](self.intermediate(x)))

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("intermediate_dim", "activation", "initializer_range")}
        return {**super().get_config(), **own}
