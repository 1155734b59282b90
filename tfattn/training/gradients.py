"""Gradients on their way from the tape to the optimizer: one for each weight, or None where the loss does not reach it.

The gradient of a table whose rows were looked up may stay a list of rows, `tf.IndexedSlices`: then nothing of the size
of the table is made. Several parts of a batch, or several replicas, give their rows one behind another; in the end each
row stands once, with the sum of all that was said of it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

Gradient = tf.Tensor | tf.IndexedSlices | None


def dense(gradients: Sequence[Gradient]) -> list[Gradient]:
    """Give every gradient the shape of its weight."""
    return [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]


def accumulated(
    compute: Callable[[tf.Tensor | int], tuple[list[Gradient], tf.Tensor]], count: int
) -> tuple[list[Gradient], tf.Tensor]:
    """Sum the gradients and the losses of `count` parts of a batch, computed one after another.

    Args:
        compute: gradients and losses of the part of a number.
        count: how many parts there are, at least 1.
    """
    # The first part is computed before the loop, which then knows which gradients there are, and of which kind.
    gradients, losses = compute(0)
    if count == 1:
        return gradients, losses
    reached = [place for place, gradient in enumerate(gradients) if gradient is not None]

    def one(index, totals, losses):
        new, more = compute(index)
        totals = [_added(total, new[place], index) for place, total in zip(reached, totals, strict=True)]
        return index + 1, totals, losses + more

    # One after another: side by side they would need the memory that they are there to save.
    _, totals, losses = tf.while_loop(
        lambda index, *_: index < count,
        one,
        (tf.constant(1), [_begun(gradients[place], count) for place in reached], losses),
        parallel_iterations=1,
    )
    for place, total in zip(reached, totals, strict=True):
        gradients[place] = _ended(total, gradients[place])
    return gradients, losses


def summed(
    gradients: Sequence[Gradient], losses: tf.Tensor, replica: tf.distribute.ReplicaContext
) -> tuple[list[Gradient], tf.Tensor]:
    """Sum gradients and losses over all replicas; every row then stands once. Call it inside each of them."""
    gradients = list(gradients)
    tensors = {place: gradient for place, gradient in enumerate(gradients) if isinstance(gradient, tf.Tensor)}
    *added, losses = replica.all_reduce(tf.distribute.ReduceOp.SUM, [*tensors.values(), losses])
    for place, gradient in zip(tensors, added, strict=True):
        gradients[place] = gradient
    for place, gradient in enumerate(gradients):
        if isinstance(gradient, tf.IndexedSlices):
            gradients[place] = _once(_gathered(gradient, replica))
    return gradients, losses


def squares(gradient: tf.Tensor | tf.IndexedSlices) -> tf.Tensor:
    """Sum the squares of a gradient in which every row stands once."""
    return 2 * tf.nn.l2_loss(gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient)


def scaled(gradient: Gradient, factor: tf.Tensor) -> Gradient:
    """Multiply a gradient by a number."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return None if gradient is None else gradient * factor


def _begun(gradient: tf.Tensor | tf.IndexedSlices, count: int) -> Any:
    if isinstance(gradient, tf.Tensor):
        return gradient
    return [
        tf.TensorArray(rows.dtype, count, infer_shape=False, element_shape=[None, *rows.shape[1:]]).write(0, rows)
        for rows in (gradient.values, gradient.indices)
    ]


def _added(total: Any, gradient: tf.Tensor | tf.IndexedSlices, index: tf.Tensor) -> Any:
    if isinstance(gradient, tf.Tensor):
        return total + gradient
    return [rows.write(index, new) for rows, new in zip(total, (gradient.values, gradient.indices), strict=True)]


def _ended(total: Any, first: tf.Tensor | tf.IndexedSlices) -> tf.Tensor | tf.IndexedSlices:
    return total if isinstance(first, tf.Tensor) else tf.IndexedSlices(*(rows.concat() for rows in total))


def _gathered(rows: tf.IndexedSlices, replica: tf.distribute.ReplicaContext) -> tf.IndexedSlices:
    if replica.num_replicas_in_sync == 1:
        return rows
    return tf.IndexedSlices(*replica.all_gather([rows.values, rows.indices], axis=0))


def _once(rows: tf.IndexedSlices) -> tf.IndexedSlices:
    indices, places = tf.unique(rows.indices)
    return tf.IndexedSlices(tf.math.unsorted_segment_sum(rows.values, places, tf.size(indices)), indices)
