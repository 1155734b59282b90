"""Activation functions by their names in configurations.

Both forms of GELU always compute in float32: in bfloat16 the normal distribution function would have two digits, and on
a CPU the casts are faster than the same steps in bfloat16.
"""

import math
from typing import Any

from keras import ops


def gelu(x: Any) -> Any:
    """Return x Phi(x), the Gaussian error linear unit, exactly: Hugging Face's `gelu`.

    Args:
        x: of any shape and floating type.

    Returns:
        the same shape and type; Phi is the distribution function of the standard normal distribution.

    Example:
        >>> round(float(gelu(ops.convert_to_tensor(1.0))), 4)
        0.8413

    Source: Hendrycks and Gimpel 2016, "Gaussian error linear units", section 2.
    """
    wide = ops.cast(x, "float32")
    # By erf; TensorFlow's own GELU uses erfc, which takes three times as long. The converter of LiteRT recognizes this
    # order of the factors as its GELU; it has no erf.
    return ops.cast((0.5 * wide) * (1.0 + ops.erf(wide * math.sqrt(0.5))), x.dtype)


def gelu_approximate(x: Any) -> Any:
    """Return x Phi(x) with Phi approximated by tanh: the GELU of google-research/bert and KerasHub.

    Hugging Face calls it `gelu_new`. Arguments, result and source are as for `gelu`.
    """
    wide = ops.cast(x, "float32")
    # 0.5 (1 + tanh(u)) is sigmoid(2u), in fewer steps.
    doubled = wide * (2 * math.sqrt(2 / math.pi)) * (1.0 + 0.044715 * wide * wide)
    return ops.cast(wide * ops.sigmoid(doubled), x.dtype)


def relu_squared(x: Any) -> Any:
    """Return max(0, x)^2.

    Source: So et al. 2021, "Primer: searching for efficient Transformers for language modeling", section 4.1.
    """
    positive = ops.relu(x)
    return positive * positive


def glu(x: Any) -> Any:
    """Return sigmoid(a) b of the halves a and b of the last axis: (..., 2 F) -> (..., F).

    Source: Dauphin et al. 2017, "Language modeling with gated convolutional networks", eq. 1.
    """
    gate, value = ops.split(x, 2, axis=-1)
    return ops.sigmoid(gate) * value


def reglu(x: Any) -> Any:
    """Return max(0, a) b of the halves a and b of the last axis: (..., 2 F) -> (..., F).

    Source: Shazeer 2020, "GLU variants improve Transformer", eq. 5.
    """
    gate, value = ops.split(x, 2, axis=-1)
    return ops.relu(gate) * value


def geglu(x: Any) -> Any:
    """Return GELU(a) b of the halves a and b of the last axis: (..., 2 F) -> (..., F).

    Source: Shazeer 2020, "GLU variants improve Transformer", eq. 5.
    """
    gate, value = ops.split(x, 2, axis=-1)
    return gelu(gate) * value


def geglu_approximate(x: Any) -> Any:
    """Return GELU(a) b, as `geglu`, with the GELU of `gelu_approximate`.

    Source: Gemma team 2024, "Gemma".
    """
    gate, value = ops.split(x, 2, axis=-1)
    return gelu_approximate(gate) * value


def swiglu(x: Any) -> Any:
    """Return a sigmoid(a) b of the halves a and b of the last axis: (..., 2 F) -> (..., F).

    Source: Shazeer 2020, "GLU variants improve Transformer", eq. 5 (Swish with beta 1).
    """
    gate, value = ops.split(x, 2, axis=-1)
    return ops.silu(gate) * value


ACTIVATIONS = {
    "gelu": gelu,
    "gelu_approximate": gelu_approximate,
    "relu": ops.relu,
    "relu_squared": relu_squared,
    "silu": ops.silu,  # also called Swish
    "sigmoid": ops.sigmoid,
    "tanh": ops.tanh,
}
# The last axis of their input is twice as wide as that of their output.
GATED_ACTIVATIONS = {
    "glu": glu,
    "reglu": reglu,
    "geglu": geglu,
    "geglu_approximate": geglu_approximate,
    "swiglu": swiglu,
}
