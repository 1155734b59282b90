"""Learned scales of the components of a sublayer's result."""

from typing import Any

import keras


class LayerScale(keras.layers.Layer):
    """Multiplication of each component by a learned number: (..., D) -> (..., D).

    It is applied to the results of attention and of the feed-forward network, before they are added. With a small
    initial value, each block is close to the identity at the start of training, which trains deep stacks more easily.

    Masks: positions are independent of each other.

    Args:
        initial_value: the initial value of all numbers.

    Example:
        >>> layer = LayerScale(initial_value=1e-4)
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Touvron et al. 2021, "Going deeper with image Transformers", section 2.
    """

    def __init__(self, *, initial_value: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.initial_value = initial_value

    def build(self, input_shape: tuple) -> None:
        initializer = keras.initializers.Constant(self.initial_value)
        self.gamma = self.add_weight(name="gamma", shape=(input_shape[-1],), initializer=initializer)

    def call(self, x: Any) -> Any:
        return x * keras.ops.cast(self.gamma, x.dtype)
