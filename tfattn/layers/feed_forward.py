"""The position-wise feed-forward network of a Transformer block."""

from typing import Any

import keras

from tfattn.layers.dropout import Dropout
from tfattn.layers.projection import Projection
from tfattn.ops.activations import ACTIVATIONS, GATED_ACTIVATIONS


class FeedForward(keras.layers.Layer):
    """Two linear maps with an activation in between, applied to each position: (B, T, D) -> (B, T, D).

    Masks: positions are independent of each other.

    Args:
        intermediate_dim: the width in between.
        activation: a name in ops.activations.ACTIVATIONS; or in GATED_ACTIVATIONS, for which the first map is twice as
            wide and one half gates the other.
        use_bias: whether both maps add a learned vector.
        dropout: the fraction of the activations that is dropped in training.
        initializer_range: the standard deviation of the kernels' truncated normal distribution; None as in Projection.
        output_range: the standard deviation of the output kernel; by default `initializer_range`.

    Example:
        >>> layer = FeedForward(intermediate_dim=32)
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", eq. 2; GELU as in BERT; gates: Shazeer 2020, "GLU variants
    improve Transformer".
    """

    def __init__(
        self,
        *,
        intermediate_dim: int,
        activation: str = "gelu",
        use_bias: bool = True,
        dropout: float = 0.0,
        initializer_range: float | None = 0.02,
        output_range: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.use_bias = use_bias
        self.dropout = dropout
        self.initializer_range = initializer_range
        self.output_range = output_range

    def build(self, input_shape: tuple) -> None:
        common = {"use_bias": self.use_bias, "dtype": self.dtype_policy}
        first, last = self.initializer_range, self.output_range
        targets = ("gate", "intermediate") if self.activation in GATED_ACTIVATIONS else ("intermediate",)
        self.intermediate = Projection(
            units=(self.intermediate_dim,) * len(targets),
            initializer_range=first,
            targets=targets,
            name="intermediate",
            **common,
        )
        self.intermediate.build(input_shape)
        self.intermediate_dropout = Dropout(self.dropout, name="dropout", dtype=self.dtype_policy)
        self.intermediate_dropout.build((*input_shape[:-1], self.intermediate_dim))
        self.output_projection = Projection(
            units=input_shape[-1],
            initializer_range=first if last is None else last,
            targets=("feed_forward_output",),
            name="output",
            **common,
        )
        self.output_projection.build((*input_shape[:-1], self.intermediate_dim))

    def call(self, x: Any, training: bool = False) -> Any:
        activate = {**ACTIVATIONS, **GATED_ACTIVATIONS}[self.activation]
        return self.output_projection(self.intermediate_dropout(activate(self.intermediate(x)), training=training))
