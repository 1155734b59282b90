"""Attention pooling of a sequence into one vector."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.projection import Projection


class AttentionPooling(keras.layers.Layer):
    """The mean of a sequence's vectors, weighted by the softmax of learned scores: (B, T, D) -> (B, D).

    It always computes in float32.

    Masks: all positions count.

    Args:
        initializer_range: the standard deviation of the kernel's truncated normal distribution.

    Example:
        >>> layer = AttentionPooling()
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 8])

    Source: Hassani et al. 2021, "Escaping the big data paradigm with compact Transformers", eq. 4 to 6. Their score
    has a bias, which does not change a softmax.
    """

    def __init__(self, *, initializer_range: float = 0.02, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        self.score = Projection(
            units=1, use_bias=False, initializer_range=self.initializer_range, name="score", dtype="float32"
        )
        self.score.build(input_shape)

    def call(self, x: Any) -> Any:
        x = ops.cast(x, "float32")
        return ops.cast(ops.matmul(self.fractions(x)[:, None], x)[:, 0], self.compute_dtype)

    def fractions(self, x: Any) -> Any:
        """Compute the weight of each vector: (B, T, D) -> (B, T) float32, which sum to 1."""
        return ops.softmax(self.score(ops.cast(x, "float32"))[..., 0], axis=1)
