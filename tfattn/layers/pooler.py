"""BERT's pooler."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.projection import Projection


class Pooler(keras.layers.Layer):
    """BERT's pooler, a dense layer with tanh on the vector of the first token: (B, T, D) -> (B, D).

    Masks: the first token is never padding.

    Args:
        initializer_range: the standard deviation of the kernel's truncated normal distribution.

    Example:
        >>> layer = Pooler()
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 8])

    Source: Devlin et al. 2018, "BERT"; the released code's `pooler`.
    """

    def __init__(self, *, initializer_range: float = 0.02, **kwargs: Any):
        super().__init__(**kwargs)
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        self.dense = Projection(
            units=input_shape[-1], initializer_range=self.initializer_range, dtype=self.dtype_policy, name="dense"
        )
        self.dense.build((input_shape[0], input_shape[-1]))

    def call(self, x: Any) -> Any:
        return ops.tanh(self.dense(x[:, 0]))
