"""Muon: momentum whose updates of matrices are made orthogonal."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.types import Rate
from tfattn.training.gradients import Gradient
from tfattn.training.optimizers import AdamW, kernels

# Of the polynomial a x + b x^3 + c x^5 that moves singular values towards 1: Jordan et al. 2024.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
# Times the root of a matrix' longer side, the root mean square of an update: about that of AdamW's updates.
SIZE = 0.2
TOGETHER = 16  # matrices of a product at most: the copies that it needs stay small


@dataclass(kw_only=True, eq=False)
class Muon(AdamW):
    """Momentum made orthogonal for the linear maps between hidden vectors, AdamW for all other weights.

    Linear maps are the kernels of `Projection`, those of poolers and of BERT's head of masked words included. Other
    weights are tables, the patch projection of images, output layers, convolutions, recurrent kernels, norms and
    biases. A kernel that holds several maps side by side, such as queries, keys and values, is treated as that many
    matrices. An update has the size of one of AdamW's, so that both share a learning rate, which is AdamW's or a few
    times that.

    The orthogonalization is computed in bfloat16. Its cost depends on the model alone: with batches of many thousand
    tokens it hardly counts, with small ones it does.

    Args:
        momentum: the fraction of the mean gradient that is kept per step, for linear maps; Nesterov's.
        iterations: how often the polynomial is applied that makes an update orthogonal.
        learning_rate, weight_decay: of all weights.
        beta_1, beta_2, epsilon: those of AdamW.

    Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; the size of updates and the
    weight decay: Liu et al. 2025, "Muon is scalable for LLM training", eq. 4.
    """

    momentum: Rate = 0.95
    iterations: PositiveInt = 5

    def apply(self, gradients: Sequence[Gradient], fraction: tf.Tensor, update: tf.Tensor) -> None:
        super().apply(
            [None if maps else gradient for maps, gradient in zip(self.maps, gradients, strict=True)], fraction, update
        )
        parts = {
            index: tf.split(self._direction(index, gradient), self.maps[index], axis=1)
            for index, gradient in enumerate(gradients)
            if self.maps[index] and gradient is not None
        }
        places = [(index, number) for index, matrices in parts.items() for number in range(len(matrices))]
        for alike in _alike(places, lambda place: tuple(parts[place[0]][place[1]].shape)):
            matrices = tf.stack([parts[index][number] for index, number in alike])
            size = SIZE * max(matrices.shape[1:]) ** 0.5
            for (index, number), matrix in zip(
                alike, tf.unstack(orthogonalized(matrices, self.iterations)), strict=True
            ):
                parts[index][number] = size * matrix
        for index, matrices in parts.items():
            rate = fraction * (self.learning_rate * self.multipliers[index])
            handle = self.decayed(index, rate)
            kernels.ResourceApplyGradientDescent(var=handle, alpha=rate, delta=tf.concat(matrices, axis=1))

    def slot_shape(self, name: str, index: int) -> list[int]:
        return [0] if name == "second_moment" and self.maps[index] else super().slot_shape(name, index)

    def _direction(self, index: int, gradient: tf.Tensor) -> tf.Tensor:
        """Add a gradient to the momentum, and look ahead by another."""
        momentum = self.slots["first_moment"][index]
        kept = self.momentum * momentum + (1 - self.momentum) * gradient
        kernels.AssignVariableOp(resource=momentum.handle, value=kept)
        return self.momentum * kept + (1 - self.momentum) * gradient


def orthogonalized(matrices: tf.Tensor, iterations: int = 5) -> tf.Tensor:
    """Bring the singular values of matrices near 1 by Newton and Schulz's iteration.

    Args:
        matrices: (N, R, C) float32.
        iterations: with 5 of them, singular values above some hundredth of the largest come to 0.7 to 1.2.

    Returns:
        (N, R, C) float32, computed in bfloat16; zeros for a matrix of zeros.

    Source: Jordan et al. 2024, `zeropower_via_newtonschulz5`.
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = tf.linalg.matrix_transpose(matrices) if is_tall else matrices
    # Divided by the Frobenius norm, which is no less than the largest singular value.
    x = tf.cast(x / (tf.norm(x, axis=(1, 2), keepdims=True) + 1e-30), tf.bfloat16)
    first, third, fifth = COEFFICIENTS
    for _ in range(iterations):
        square = tf.matmul(x, x, transpose_b=True)
        x = first * x + tf.matmul(third * square + fifth * tf.matmul(square, square), x)
    x = tf.cast(x, tf.float32)
    return tf.linalg.matrix_transpose(x) if is_tall else x


def _alike(places: Sequence[Any], shape: Callable[[Any], tuple]) -> Iterator[list[Any]]:
    """Collect what has the same shape, at most TOGETHER at once."""
    groups = defaultdict(list)
    for place in places:
        groups[shape(place)].append(place)
    for group in groups.values():
        for first in range(0, len(group), TOGETHER):
            yield group[first : first + TOGETHER]
