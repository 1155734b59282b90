"""Sums of gradients over parts of a batch and replicas: one for each weight, or None where the loss does not reach it.

The gradient of a table whose rows were looked up may stay a list of rows, `tf.IndexedSlices`: then nothing of the size
of the table is made. The rows of several parts of a batch, or of several replicas, are concatenated; in the end each
row stands once, with the sum of its gradients, unless that makes no difference.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

Gradient = tf.Tensor | tf.IndexedSlices | None


def whole(gradients: Sequence[Gradient], *, but_tables: bool = False) -> list[Gradient]:
    """Convert gradients to the shapes of their weights; `but_tables` keeps lists of rows of matrices."""
    return [
        gradient
        if gradient is None or but_tables and isinstance(gradient, tf.IndexedSlices) and gradient.values.shape.rank == 2
        else tf.convert_to_tensor(gradient)
        for gradient in gradients
    ]


def accumulated(
    compute: Callable[[tf.Tensor | int], tuple[list[Gradient], tf.Tensor]], count: int
) -> tuple[list[Gradient], tf.Tensor]:
    """Sum the gradients and the losses of `count` parts of a batch, computed one after another.

    Args:
        compute: returns the gradients and losses of a part, given its number.
        count: the number of parts, at least 1.

    Returns:
        the sums of the gradients, one per weight or None, and of the losses.
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
    gradients: Sequence[Gradient],
    losses: tf.Tensor,
    replica: tf.distribute.ReplicaContext,
    *,
    gathers: bool,
    joins: bool = True,
) -> tuple[list[Gradient], tf.Tensor]:
    """Sum gradients and losses over all replicas. Call it inside each of them.

    Args:
        gradients: this replica's.
        losses: of each term, this replica's.
        replica: the context.
        gathers: whether lists of rows are gathered. Between processes TensorFlow can only do so if they are of equal
            length in every step of a call: there the whole table is summed, and the rows are found again.
        joins: whether every row then stands once, with the sum of its gradients, which takes about as long as to change
            the rows.

    Returns:
        the sums of the gradients and of the losses, equal in all replicas.
    """
    is_table = [isinstance(gradient, tf.IndexedSlices) for gradient in gradients]
    if not gathers:
        gradients = [_counted(one) if table else one for one, table in zip(gradients, is_table, strict=True)]
    gradients = list(gradients)
    tensors = {place: gradient for place, gradient in enumerate(gradients) if isinstance(gradient, tf.Tensor)}
    *added, losses = replica.all_reduce(tf.distribute.ReduceOp.SUM, [*tensors.values(), losses])
    for place, gradient in zip(tensors, added, strict=True):
        gradients[place] = gradient
    for place in (place for place, table in enumerate(is_table) if table):
        rows = gradients[place]
        if gathers:
            rows = _gathered(rows, replica)
            gradients[place] = _once(rows) if joins else rows
        else:
            gradients[place] = _looked_up(rows)
    return gradients, losses


def squares(gradient: tf.Tensor | tf.IndexedSlices) -> tf.Tensor:
    """Sum the squares of a gradient; a row that stands several times in a list counts as several."""
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
    if isinstance(first, tf.Tensor):
        return total
    return tf.IndexedSlices(*(rows.concat() for rows in total), first.dense_shape)


def _gathered(rows: tf.IndexedSlices, replica: tf.distribute.ReplicaContext) -> tf.IndexedSlices:
    if replica.num_replicas_in_sync == 1:
        return rows
    return tf.IndexedSlices(*replica.all_gather([rows.values, rows.indices], axis=0))


def _once(rows: tf.IndexedSlices) -> tf.IndexedSlices:
    indices, places = tf.unique(rows.indices)
    return tf.IndexedSlices(tf.math.unsorted_segment_sum(rows.values, places, tf.size(indices)), indices)


def _counted(rows: tf.IndexedSlices) -> tf.Tensor:
    """Make the whole table, with another column that counts how often each row was looked up."""
    ones = tf.ones([tf.size(rows.indices), 1])
    height, width = tf.unstack(tf.cast(rows.dense_shape, tf.int64))
    numbers = tf.concat([rows.values, ones], axis=1)
    return tf.convert_to_tensor(tf.IndexedSlices(numbers, rows.indices, tf.stack([height, width + 1])))


def _looked_up(table: tf.Tensor) -> tf.IndexedSlices:
    indices = tf.where(table[:, -1] > 0)[:, 0]
    return tf.IndexedSlices(tf.gather(table[:, :-1], indices), indices)
