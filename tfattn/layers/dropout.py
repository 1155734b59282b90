"""Dropout of components and of whole layers, whose random state has a stable name."""

from typing import Any

import keras
from keras import ops

# One random byte for each element, a quarter of what keras.random.dropout draws: on a CPU random numbers are the most
# expensive part of dropout.
LEVELS = 256


class Dropout(keras.layers.Layer):
    """Dropout: in training, a random fraction of the elements is set to 0 and the others are scaled up.

    Keras's own layer numbers its random state by the order in which all layers of the process are created; a checkpoint
    with variable names needs stable names.

    Args:
        rate: the fraction that is dropped, at least 0 and below 1, rounded to 1 / 256. With 0 the layer has no state.

    Example:
        >>> layer = Dropout(0.5)
        >>> layer(keras.ops.ones((2, 3)), training=True).shape
        TensorShape([2, 3])
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
        return dropout(x, rate=self.rate, seed=self.seed)


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


def dropout(x: Any, *, rate: float, seed: Any) -> Any:
    """Set a random fraction of the elements to 0 and scale the others up to keep the mean.

    Args:
        x: of any shape.
        rate: the fraction to drop, at least 0 and below 1; rounded to a 256th, which the scale accounts for.
        seed: a keras.random.SeedGenerator, which advances by one step.

    Returns:
        a tensor of the shape and type of x.

    Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting".
    """
    dropped = min(round(rate * LEVELS), LEVELS - 1)
    size = ops.size(x)
    words = keras.random.randint(((size + 3) // 4, 1), -(2**31), 2**31 - 1, seed=seed)
    draws = ops.reshape(ops.view(words, "uint8"), (-1,))[:size]
    keep = ops.reshape(draws >= ops.cast(dropped, "uint8"), ops.shape(x))
    return x * (ops.cast(keep, x.dtype) * ops.cast(LEVELS / (LEVELS - dropped), x.dtype))
