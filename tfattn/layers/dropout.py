"""Dropout whose random state has a stable name."""

from typing import Any

import keras

from tfattn.ops.dropout import dropout


class Dropout(keras.layers.Layer):
    """Dropout: while training, a random fraction of the elements is set to 0 and the others are scaled up.

    Keras's own layer numbers its random state by the order in which all layers of the process were made; a checkpoint
    that is keyed by variable names needs the same name each time.

    Args:
        rate: the fraction that is dropped, at least 0 and below 1, to a 256th. With 0 the layer holds no state.

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
