"""Normalization layers with closed-form gradients."""

import functools
from typing import Any

import keras
from keras import ops

from tfattn.errors import ConfigError
from tfattn.ops.normalization import layer_normalization, rms_normalization


class LayerNormalization(keras.layers.Layer):
    """Layer normalization, with learned scales and, by default, shifts of the components: (..., D) -> (..., D).

    It is equivalent to keras.layers.LayerNormalization, with weights of the same names; a training step takes about
    half of the time on a CPU.

    Masks: positions are independent of each other.

    Args:
        epsilon: added to the variance before its root is taken.
        use_bias: whether the components are shifted.

    Example:
        >>> layer = LayerNormalization(epsilon=1e-6)
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Ba et al. 2016, "Layer normalization", eq. 4.
    """

    def __init__(self, *, epsilon: float, use_bias: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.use_bias = use_bias

    def build(self, input_shape: tuple) -> None:
        # Float32, as the sums that use them.
        common = {"shape": (input_shape[-1],), "dtype": "float32", "autocast": False}
        self.gamma = self.add_weight(name="gamma", initializer="ones", **common)
        self.beta = self.add_weight(name="beta", initializer="zeros", **common) if self.use_bias else None

    def call(self, x: Any) -> Any:
        # As tensors: in TensorFlow a function with a custom gradient cannot read variables.
        shifts = ops.zeros_like(self.gamma) if self.beta is None else ops.copy(self.beta)
        return layer_normalization(x, ops.copy(self.gamma), shifts, epsilon=self.epsilon)


class RmsNormalization(keras.layers.Layer):
    """Division by the root mean square, with learned scales of the components: (..., D) -> (..., D).

    Masks: positions are independent of each other.

    Args:
        epsilon: added to the mean square before its root is taken.

    Example:
        >>> layer = RmsNormalization(epsilon=1e-6)
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])

    Source: Zhang and Sennrich 2019, "Root mean square layer normalization", eq. 4.
    """

    def __init__(self, *, epsilon: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, input_shape: tuple) -> None:
        # Float32, as the sums that use it.
        common = {"shape": (input_shape[-1],), "dtype": "float32", "autocast": False}
        self.gamma = self.add_weight(name="gamma", initializer="ones", **common)

    def call(self, x: Any) -> Any:
        # As a tensor: in TensorFlow a function with a custom gradient cannot read variables.
        return rms_normalization(x, ops.copy(self.gamma), epsilon=self.epsilon)


class NoNormalization(keras.layers.Layer):
    """The identity, for ablations without normalization: (..., D) -> (..., D).

    Args:
        epsilon: unused.

    Example:
        >>> layer = NoNormalization(epsilon=1e-6)
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 5, 8])
    """

    def __init__(self, *, epsilon: float, **kwargs: Any):
        super().__init__(**kwargs)

    def build(self, input_shape: tuple) -> None:
        self.built = True

    def call(self, x: Any) -> Any:
        return x


def normalization_layer(kind: str, *, epsilon: float, **kwargs: Any) -> keras.layers.Layer:
    """Create the normalization layer that a configuration names.

    Args:
        kind: "layer_norm", "layer_norm_no_bias" (without shifts), "rms_norm" or "none"; "batch_norm" is refused.
        epsilon: see the layers.
        kwargs: arguments of keras.layers.Layer.

    Raises:
        ConfigError: batch normalization is requested; the message has the reason.
    """
    if kind == "batch_norm":
        raise ConfigError(
            "batch normalization does not suit sequences: its means and variances are computed over the whole batch, "
            "padding included, so the outputs of a text would depend on the other texts of its batch, gradients on how "
            "a batch is divided among replicas, and a decoder would see later tokens",
            key="normalization",
            expected=", ".join(_NORMALIZATIONS),
            received=kind,
            remedy="Use layer_norm or rms_norm, which normalize each position independently.",
        )
    return _NORMALIZATIONS[kind](epsilon=epsilon, **kwargs)


_NORMALIZATIONS = {
    "layer_norm": LayerNormalization,
    "layer_norm_no_bias": functools.partial(LayerNormalization, use_bias=False),
    "rms_norm": RmsNormalization,
    "none": NoNormalization,
}
