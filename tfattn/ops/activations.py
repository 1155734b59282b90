"""Activation functions by the names that configurations use.

Both forms of GELU compute in float32 whatever the type of their input: in bfloat16 the normal distribution function
would keep two digits, and on a CPU the detour is faster than the same steps in bfloat16.
"""

import math
from typing import Any

from keras import ops


def gelu(x: Any) -> Any:
    """x Phi(x), Phi the normal distribution function (Hendrycks and Gimpel 2016, section 2); Hugging Face's `gelu`."""
    wide = ops.cast(x, "float32")
    # By erf; TensorFlow's own takes erfc, at three times the time.
    return ops.cast(wide * (0.5 * (1.0 + ops.erf(wide * math.sqrt(0.5)))), x.dtype)


def gelu_approximate(x: Any) -> Any:
    """x Phi(x) with Phi by tanh (same section); google-research/bert's and KerasHub's, Hugging Face's `gelu_new`."""
    wide = ops.cast(x, "float32")
    # 0.5 (1 + tanh(u)) is sigmoid(2u), in fewer steps.
    doubled = wide * (2 * math.sqrt(2 / math.pi)) * (1.0 + 0.044715 * wide * wide)
    return ops.cast(wide * ops.sigmoid(doubled), x.dtype)


def reglu(x: Any) -> Any:
    """max(0, a) b of the halves a and b of the last axis: (..., 2 F) -> (..., F) (Shazeer 2020, eq. 5)."""
    gate, value = ops.split(x, 2, axis=-1)
    return ops.relu(gate) * value


ACTIVATIONS = {"gelu": gelu, "gelu_approximate": gelu_approximate, "relu": ops.relu}
# These read twice the width that they answer.
GATED_ACTIVATIONS = {"reglu": reglu}
