"""Muon: momentum with orthogonalized updates of matrices."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.types import Rate
from tfattn.training.gradients import Gradient
from tfattn.training.optimizers import AdamW, kernels

# Coefficients of the polynomial a x + b x^3 + c x^5 that moves singular values towards 1: Jordan et al. 2024.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
# The root mean square of an update, about that of AdamW's updates: Liu et al. 2025, eq. 4.
SIZE = 0.2
MAX_MATRICES = 16  # in one batched product, to limit its memory


@dataclass(kw_only=True, eq=False)
class Muon(AdamW):
    """Muon for the linear maps between hidden vectors, AdamW for all other weights.

    Linear maps are the kernels of `Projection`, including poolers and BERT's head of masked tokens. Other weights are
    embedding tables, the patch projection of images, output layers, convolutions, recurrent kernels, norms and biases.
    A kernel of several concatenated maps, such as queries, keys and values, is divided into its matrices. Updates have
    the size of AdamW's updates, so that both share a learning rate: AdamW's, or a few times that.

    The orthogonalization is computed in bfloat16. Its cost does not depend on the batch: it is negligible for batches
    of many thousand tokens, but not for small batches.

    Args:
        momentum: the fraction of the mean gradient that is kept per step, for linear maps; Nesterov's momentum.
        iterations: the number of iterations of the orthogonalization.
        learning_rate, weight_decay: of all weights.
        beta_1, beta_2, epsilon: of AdamW.

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
        keys = [(index, number) for index, matrices in parts.items() for number in range(len(matrices))]
        for group in _group_by_shape(keys, lambda key: tuple(parts[key[0]][key[1]].shape)):
            matrices = tf.stack([parts[index][number] for index, number in group])
            size = SIZE * max(matrices.shape[1:]) ** 0.5
            updates = tf.unstack(orthogonalize(matrices, self.iterations))
            for (index, number), matrix in zip(group, updates, strict=True):
                parts[index][number] = size * matrix
        for index, matrices in parts.items():
            rate = fraction * (self.learning_rate * self.multipliers[index])
            handle = self.decayed(index, rate)
            kernels.ResourceApplyGradientDescent(var=handle, alpha=rate, delta=tf.concat(matrices, axis=1))

    def slot_shape(self, name: str, index: int) -> list[int]:
        return [0] if name == "second_moment" and self.maps[index] else super().slot_shape(name, index)

    def _direction(self, index: int, gradient: tf.Tensor) -> tf.Tensor:
        """Update the momentum with a gradient, and return Nesterov's direction."""
        momentum = self.slots["first_moment"][index]
        kept = self.momentum * momentum + (1 - self.momentum) * gradient
        kernels.AssignVariableOp(resource=momentum.handle, value=kept)
        return self.momentum * kept + (1 - self.momentum) * gradient


def orthogonalize(matrices: tf.Tensor, iterations: int = 5) -> tf.Tensor:
    """Move the singular values of matrices near 1 by the Newton-Schulz iteration.

    Args:
        matrices: (N, R, C) float32.
        iterations: after 5 iterations, singular values above about a hundredth of the largest are within 0.7 to 1.2.

    Returns:
        (N, R, C) float32, computed in bfloat16; zeros for a matrix of zeros.

    Source: Jordan et al. 2024, `zeropower_via_newtonschulz5`.
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = tf.linalg.matrix_transpose(matrices) if is_tall else matrices
    # The Frobenius norm is an upper bound of the largest singular value.
    x = tf.cast(x / (tf.norm(x, axis=(1, 2), keepdims=True) + 1e-30), tf.bfloat16)
    first, third, fifth = COEFFICIENTS
    for _ in range(iterations):
        square = tf.matmul(x, x, transpose_b=True)
        x = first * x + tf.matmul(third * square + fifth * tf.matmul(square, square), x)
    x = tf.cast(x, tf.float32)
    return tf.linalg.matrix_transpose(x) if is_tall else x


def _group_by_shape(keys: Sequence[Any], shape: Callable[[Any], tuple]) -> Iterator[list[Any]]:
    """Yield groups of at most MAX_MATRICES keys with the same shape."""
    groups = defaultdict(list)
    for key in keys:
        groups[shape(key)].append(key)
    for group in groups.values():
        for first in range(0, len(group), MAX_MATRICES):
            yield group[first : first + MAX_MATRICES]
