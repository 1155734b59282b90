"""Dropout as a function of its input and a source of random numbers."""

from typing import Any

import keras
from keras import ops

# An element is dropped by one random byte, a quarter of what keras.random.dropout draws: random numbers are the dearest
# part of dropout on a CPU.
LEVELS = 256


def dropout(x: Any, *, rate: float, seed: Any) -> Any:
    """Set a random fraction of the elements to 0 and scale the others up so that the mean stays.

    Args:
        x: of any shape.
        rate: the fraction to drop, at least 0 and below 1; rounded to a 256th, which the scale takes into account.
        seed: a keras.random.SeedGenerator, which goes on by one step.

    Returns:
        the shape and type of x.

    Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from overfitting".
    """
    dropped = min(round(rate * LEVELS), LEVELS - 1)
    size = ops.size(x)
    words = keras.random.randint(((size + 3) // 4, 1), -(2**31), 2**31 - 1, seed=seed)
    draws = ops.reshape(ops.view(words, "uint8"), (-1,))[:size]
    keep = ops.reshape(draws >= ops.cast(dropped, "uint8"), ops.shape(x))
    return x * (ops.cast(keep, x.dtype) * ops.cast(LEVELS / (LEVELS - dropped), x.dtype))
