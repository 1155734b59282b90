"""Normalization layers."""

import functools
from typing import Any

import keras
from keras import ops

from tfattn.errors import ConfigError
from tfattn.ops.batch_moments import batch_moments
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

    def call(self, x: Any, padding_mask: Any = None, training: bool = False) -> Any:
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

    def call(self, x: Any, padding_mask: Any = None, training: bool = False) -> Any:
        # As a tensor: in TensorFlow a function with a custom gradient cannot read variables.
        return rms_normalization(x, ops.copy(self.gamma), epsilon=self.epsilon)


class BatchNormalization(keras.layers.Layer):
    """Normalization of each component over a batch, with learned scales and shifts: (..., D) -> (..., D).

    In training, means and variances are those of the real positions of the whole batch, on all replicas and
    micro-batches (see `BatchScope`), in float32. Otherwise they are running averages over the steps of training, and
    rows are independent of each other. A layer that is not trained uses the running averages in training too.

    It is equivalent to keras.layers.BatchNormalization with a mask, with weights of the same names.

    Masks: padded positions do not count, but they are normalized.

    Args:
        epsilon: added to the variance before its root is taken.
        momentum: the fraction of the running averages that is kept per step.

    Call arguments:
        x: (B, ..., D).
        padding_mask: of the shape of x without D, True (or not 0) at real positions; None if all are real.

    Example:
        >>> layer = BatchNormalization(epsilon=1e-6)
        >>> layer(keras.random.normal((1, 5, 8)), training=True).shape
        TensorShape([1, 5, 8])

    Source: Ioffe and Szegedy 2015, "Batch normalization: accelerating deep network training by reducing internal
    covariate shift", algorithms 1 and 2; as in Keras, the running variance is not multiplied by n / (n - 1).
    """

    def __init__(self, *, epsilon: float, momentum: float = 0.99, **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.momentum = momentum

    def build(self, input_shape: tuple) -> None:
        # Float32, as the sums that use them.
        common = {"shape": (input_shape[-1],), "dtype": "float32", "autocast": False}
        self.gamma = self.add_weight(name="gamma", initializer="ones", **common)
        self.beta = self.add_weight(name="beta", initializer="zeros", **common)
        self.moving_mean = self.add_weight(name="moving_mean", initializer="zeros", trainable=False, **common)
        self.moving_variance = self.add_weight(name="moving_variance", initializer="ones", trainable=False, **common)

    def call(self, x: Any, padding_mask: Any = None, training: bool = False) -> Any:
        mean, variance = self.moving_mean, self.moving_variance
        if training and self.gamma.trainable:
            count, mean, variance = batch_moments(x, padding_mask)
            kept = ops.where(count > 0, self.momentum, 1.0)
            for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                average.assign(average * kept + ops.stop_gradient(value) * (1 - kept))
        scale = self.gamma * ops.rsqrt(variance + self.epsilon)
        return ops.cast((ops.cast(x, "float32") - mean) * scale + self.beta, x.dtype)


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

    def call(self, x: Any, padding_mask: Any = None, training: bool = False) -> Any:
        return x


def normalization_layer(kind: str, *, epsilon: float, **kwargs: Any) -> keras.layers.Layer:
    """Create the normalization layer that a configuration names.

    All layers are called with `(x, padding_mask=None, training=False)`; batch normalization alone reads the mask.

    Args:
        kind: "layer_norm", "layer_norm_no_bias" (without shifts), "rms_norm", "batch_norm" or "none".
        epsilon: see the layers.
        kwargs: arguments of keras.layers.Layer.
    """
    return _NORMALIZATIONS[kind](epsilon=epsilon, **kwargs)


def refuse_batch_norm(kind: str, *, reason: str, remedy: str = "Use layer_norm or rms_norm.") -> None:
    """Raise an error if a configuration names batch normalization in a model that does not suit it.

    Args:
        kind: as `normalization_layer`.
        reason: the reason, for the message.
        remedy: the remedy, for the message.

    Raises:
        ConfigError: batch normalization is requested.
    """
    if kind == "batch_norm":
        raise ConfigError(
            f"batch normalization does not suit this model: {reason}",
            key="normalization",
            expected=", ".join(name for name in _NORMALIZATIONS if name != kind),
            received=kind,
            remedy=remedy,
        )


CAUSAL = "its means and variances are computed over all positions of a text, so a decoder would see later tokens"

_NORMALIZATIONS = {
    "layer_norm": LayerNormalization,
    "layer_norm_no_bias": functools.partial(LayerNormalization, use_bias=False),
    "rms_norm": RmsNormalization,
    "batch_norm": BatchNormalization,
    "none": NoNormalization,
}
