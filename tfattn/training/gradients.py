"""Sums of gradients over micro-batches and replicas, one per weight, or None if the loss does not depend on the weight.

The gradient of an embedding table may stay sparse (`tf.IndexedSlices`): the rows of the batch and their gradients,
without a dense tensor of the table's size. The rows of several micro-batches or replicas are concatenated; then
duplicate rows are merged, unless the optimizer does not need it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

GRADIENT_NORM = "gradient_norm/"  # prefix of the name of a layer, in the history

Gradient = tf.Tensor | tf.IndexedSlices | None


def densify(gradients: Sequence[Gradient], *, sparse_tables: bool = False) -> list[Gradient]:
    """Convert gradients to dense tensors; with `sparse_tables`, sparse gradients of matrices are kept."""
    return [
        gradient
        if gradient is None
        or sparse_tables
        and isinstance(gradient, tf.IndexedSlices)
        and gradient.values.shape.rank == 2
        else tf.convert_to_tensor(gradient)
        for gradient in gradients
    ]


def accumulate(
    compute: Callable[[tf.Tensor | int], tuple[list[Gradient], tf.Tensor]], count: int
) -> tuple[list[Gradient], tf.Tensor]:
    """Sum the gradients and losses of `count` micro-batches, computed one after another.

    Args:
        compute: returns the gradients and losses of a micro-batch, given its index.
        count: the number of micro-batches, at least 1.

    Returns:
        the sums of the gradients, one per weight or None, and of the losses.
    """
    # The first micro-batch is computed before the loop, to know which gradients exist and which are sparse.
    gradients, losses = compute(0)
    if count == 1:
        return gradients, losses
    reached = [index for index, gradient in enumerate(gradients) if gradient is not None]

    def body(number, totals, losses):
        new, more = compute(number)
        totals = [_add(total, new[index], number) for index, total in zip(reached, totals, strict=True)]
        return number + 1, totals, losses + more

    # Sequentially: parallel iterations would need the memory that accumulation saves.
    _, totals, losses = tf.while_loop(
        lambda number, *_: number < count,
        body,
        (tf.constant(1), [_start_total(gradients[index], count) for index in reached], losses),
        parallel_iterations=1,
    )
    for index, total in zip(reached, totals, strict=True):
        gradients[index] = _finish_total(total, gradients[index])
    return gradients, losses


def concatenate_parts(compute: Callable[[tf.Tensor | int], dict[str, tf.Tensor]], count: int) -> dict[str, tf.Tensor]:
    """Concatenate the rows of `count` micro-batches, computed one after another without gradients.

    Args:
        compute: returns the rows (n, ...) of a micro-batch by name, given its index.
        count: the number of micro-batches, at least 1.

    Returns:
        the rows (count * n, ...) by name.
    """
    # The first micro-batch is computed before the loop, to know the types.
    first = compute(0)
    arrays = {
        name: tf.TensorArray(rows.dtype, size=count, element_shape=rows.shape).write(0, rows)
        for name, rows in first.items()
    }

    def body(number, arrays):
        return number + 1, {name: arrays[name].write(number, rows) for name, rows in compute(number).items()}

    _, arrays = tf.while_loop(lambda number, _: number < count, body, (tf.constant(1), arrays), parallel_iterations=1)
    return {name: tf.stop_gradient(array.concat()) for name, array in arrays.items()}


def all_reduce(
    gradients: Sequence[Gradient],
    losses: tf.Tensor,
    replica: tf.distribute.ReplicaContext,
    *,
    gather_rows: bool,
    merge_rows: bool = True,
) -> tuple[list[Gradient], tf.Tensor]:
    """Sum gradients and losses over all replicas. Call it inside each replica.

    Args:
        gradients: this replica's.
        losses: this replica's losses of each term.
        replica: the context.
        gather_rows: whether sparse gradients are gathered. Between processes TensorFlow can gather only lists of equal
            length: then dense tables are summed, and the rows are extracted again.
        merge_rows: whether duplicate rows are merged into their sum, which takes about as long as the update.

    Returns:
        the sums of the gradients and of the losses, equal in all replicas.
    """
    is_table = [isinstance(gradient, tf.IndexedSlices) for gradient in gradients]
    if not gather_rows:
        gradients = [
            _table_with_counts(gradient) if table else gradient
            for gradient, table in zip(gradients, is_table, strict=True)
        ]
    gradients = list(gradients)
    tensors = {index: gradient for index, gradient in enumerate(gradients) if isinstance(gradient, tf.Tensor)}
    *sums, losses = replica.all_reduce(tf.distribute.ReduceOp.SUM, [*tensors.values(), losses])
    for index, gradient in zip(tensors, sums, strict=True):
        gradients[index] = gradient
    for index in (index for index, table in enumerate(is_table) if table):
        rows = gradients[index]
        if gather_rows:
            rows = _all_gather(rows, replica)
            gradients[index] = _merge_rows(rows) if merge_rows else rows
        else:
            gradients[index] = _rows_from_table(rows)
    return gradients, losses


def sum_of_squares(gradient: tf.Tensor | tf.IndexedSlices) -> tf.Tensor:
    """Sum the squares of a gradient; duplicate rows of a sparse gradient are counted separately."""
    return 2 * tf.nn.l2_loss(gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient)


def scale(gradient: Gradient, factor: tf.Tensor) -> Gradient:
    """Multiply a gradient by a number."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return None if gradient is None else gradient * factor


def norms_by_layer(weights: Sequence[keras.Variable], norms: np.ndarray) -> dict[str, float]:
    """Compute gradient norms of layers from gradient norms of weights, such as `gradient_norm/block_0`.

    A layer is a direct child of the model (the second part of a weight's path) or a head (the first part).

    Args:
        weights: the trained weights, in order.
        norms: (weights,), the gradient norm of each weight.
    """
    squares: dict[str, float] = {}
    for weight, norm in zip(weights, norms, strict=True):
        *layers, _ = weight.path.split("/")
        name = GRADIENT_NORM + layers[:2][-1]
        squares[name] = squares.get(name, 0.0) + float(norm) ** 2
    return {name: math.sqrt(square) for name, square in squares.items()}


def _start_total(gradient: tf.Tensor | tf.IndexedSlices, count: int) -> Any:
    if isinstance(gradient, tf.Tensor):
        return gradient
    return [
        tf.TensorArray(rows.dtype, count, infer_shape=False, element_shape=[None, *rows.shape[1:]]).write(0, rows)
        for rows in (gradient.values, gradient.indices)
    ]


def _add(total: Any, gradient: tf.Tensor | tf.IndexedSlices, number: tf.Tensor) -> Any:
    if isinstance(gradient, tf.Tensor):
        return total + gradient
    return [rows.write(number, new) for rows, new in zip(total, (gradient.values, gradient.indices), strict=True)]


def _finish_total(total: Any, first: tf.Tensor | tf.IndexedSlices) -> tf.Tensor | tf.IndexedSlices:
    if isinstance(first, tf.Tensor):
        return total
    return tf.IndexedSlices(*(rows.concat() for rows in total), first.dense_shape)


def _all_gather(rows: tf.IndexedSlices, replica: tf.distribute.ReplicaContext) -> tf.IndexedSlices:
    if replica.num_replicas_in_sync == 1:
        return rows
    return tf.IndexedSlices(*replica.all_gather([rows.values, rows.indices], axis=0))


def _merge_rows(rows: tf.IndexedSlices) -> tf.IndexedSlices:
    indices, segments = tf.unique(rows.indices)
    return tf.IndexedSlices(tf.math.unsorted_segment_sum(rows.values, segments, tf.size(indices)), indices)


def _table_with_counts(rows: tf.IndexedSlices) -> tf.Tensor:
    """Convert to a dense table with an extra column, the number of look-ups of each row."""
    ones = tf.ones([tf.size(rows.indices), 1])
    height, width = tf.unstack(tf.cast(rows.dense_shape, tf.int64))
    values = tf.concat([rows.values, ones], axis=1)
    return tf.convert_to_tensor(tf.IndexedSlices(values, rows.indices, tf.stack([height, width + 1])))


def _rows_from_table(table: tf.Tensor) -> tf.IndexedSlices:
    indices = tf.where(table[:, -1] > 0)[:, 0]
    return tf.IndexedSlices(tf.gather(table[:, :-1], indices), indices)
