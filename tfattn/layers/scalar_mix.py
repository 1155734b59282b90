"""A learned weighted sum of layers."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tfattn.ops.normalization import layer_normalization


class ScalarMix(keras.layers.Layer):
    """A weighted sum of layers with learned weights, g softmax(s): L times (B, T, D) -> (B, T, D).

    Initially all weights are equal, and g is 1.

    Args:
        num_layers: L.
        normalize: whether the vectors of each layer are first normalized to mean 0 and variance 1.

    Call arguments:
        layers: (B, T, D) each.

    Example:
        >>> ScalarMix(num_layers=2)([keras.ops.ones((2, 5, 4)), keras.ops.zeros((2, 5, 4))]).shape
        TensorShape([2, 5, 4])

    Source: Peters et al. 2018, "Deep contextualized word representations", eq. 1. The original
    normalizes over all words of a batch, this layer each vector, so that texts are independent of each other.
    """

    def __init__(self, *, num_layers: int, normalize: bool = False, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.num_layers = num_layers
        self.normalize = normalize

    def build(self, input_shape: Any = None) -> None:
        self.scalars = self.add_weight(name="scalars", shape=(self.num_layers,), initializer="zeros", autocast=False)
        self.scale = self.add_weight(name="scale", shape=(1,), initializer="ones", autocast=False)

    def call(self, layers: Sequence[Any]) -> Any:
        weights = ops.unstack(ops.softmax(self.scalars), self.num_layers) if self.num_layers > 1 else [1.0]
        mixed = sum(weight * self._normal(x) for weight, x in zip(weights, layers, strict=True))
        return ops.cast(mixed * self.scale, self.compute_dtype)

    def _normal(self, x: Any) -> Any:
        x = ops.cast(x, "float32")
        if not self.normalize:
            return x
        ones, zeros = ops.ones(x.shape[-1]), ops.zeros(x.shape[-1])
        return layer_normalization(x, ones, zeros, epsilon=1e-6)
