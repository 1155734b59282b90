"""Dropout as a function of its input and a source of random numbers."""

from typing import Any

import keras
from keras import ops

# An element is dropped by 16 random bits: half the random numbers that keras.random.dropout draws, the dearest part of
# it on a CPU, and (in bfloat16) a rate that is not rounded to a 128th.
LEVELS = 2**16


def dropout(x: Any, *, rate: float, seed: Any) -> Any:
    """Sets a random part of the elements to 0 and scales the rest up so that the mean stays.

    Args:
        x: of any shape.
        rate: the part to drop, at least 0 and below 1; rounded to a 65536th.
        seed: a keras.random.SeedGenerator, which goes on by one step.

    Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting".
    """
    dropped = round(rate * LEVELS)
    shape = ops.shape(x)
    size = ops.size(x)
    pairs = keras.random.randint(((size + 1) // 2, 1), -(2**31), 2**31 - 1, seed=seed)
    bits = ops.reshape(ops.view(pairs, "uint16"), (-1,))[:size]
    keep = ops.reshape(bits >= ops.cast(dropped, "uint16"), shape)
    return x * (ops.cast(keep, x.dtype) * ops.cast(LEVELS / (LEVELS - dropped), x.dtype))
