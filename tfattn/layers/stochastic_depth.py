"""Stochastic depth."""

from typing import Any

import keras
from keras import ops


class StochasticDepth(keras.layers.Layer):
    """Stochastic depth: in training, the result of a layer is set to 0 for a random fraction of the rows of a batch.

    The other rows are scaled up to keep the mean. With a residual connection a dropped row skips the layer.

    Args:
        rate: the fraction of rows, at least 0 and below 1. With 0 the layer holds no state.

    Example:
        >>> layer = StochasticDepth(0.5)
        >>> layer(ops.ones((2, 3, 4)), training=True).shape
        TensorShape([2, 3, 4])

    Source: Huang et al. 2016, "Deep networks with stochastic depth", by row as in Larsson et al. 2017, "FractalNet".
    """

    def __init__(self, rate: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.rate = rate

    def build(self, input_shape: tuple) -> None:
        if self.rate > 0:
            self.seed = keras.random.SeedGenerator(name="seed")

    def call(self, x: Any, training: bool = False) -> Any:
        if not training or self.rate == 0:
            return x
        draws = keras.random.uniform((ops.shape(x)[0], *[1] * (len(x.shape) - 1)), seed=self.seed, dtype="float32")
        return x * ops.cast(ops.cast(draws >= self.rate, "float32") / (1.0 - self.rate), x.dtype)
