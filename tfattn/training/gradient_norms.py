"""How large the gradient of each layer is, from the input upwards: where training goes wrong, it shows here first."""

import math
from collections.abc import Sequence

import keras
import numpy as np

GRADIENT_NORM = "gradient_norm/"  # before the name of a layer, in lines of a history


def by_layer(weights: Sequence[keras.Variable], norms: np.ndarray) -> dict[str, float]:
    """Join the norms of the gradients of weights to those of layers, such as `gradient_norm/block_0`.

    A layer is what a model holds directly, the second part of the path of a weight, or a head, the first part.

    Args:
        weights: what is trained, in order.
        norms: (weights,), of the gradient of each.
    """
    squares: dict[str, float] = {}
    for weight, norm in zip(weights, norms, strict=True):
        *layers, _ = weight.path.split("/")
        name = GRADIENT_NORM + layers[:2][-1]
        squares[name] = squares.get(name, 0.0) + float(norm) ** 2
    return {name: math.sqrt(square) for name, square in squares.items()}
