"""Losses that compare the rows of a batch with each other, over all replicas and micro-batches.

The rows of other replicas are constants. Each replica differentiates the loss of all rows by the vectors of its own
rows, and the sum of the gradients over all replicas is that of the whole batch.

Source: Gao et al. 2021, "Scaling deep contrastive learning batch size under memory limited setup" (GradCache), for
micro-batches.
"""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfattn.tasks.task import Task


def loss_sums(
    task: Task, outputs: Mapping[str, Any], batch: Mapping[str, Any], *, most_rows: int | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sum loss * weight of each term. Call it inside each replica.

    Args:
        task: the task of the loss.
        outputs: the outputs of the task for this replica's rows.
        batch: this replica's rows.
        most_rows: the maximum number of rows of a replica, for steps in a loop: between processes, a collective must
            have the same shape in every step.

    Returns:
        the sums over this replica's rows, (terms,), and the sums to differentiate, (terms,): the same, or for a task
        whose loss reads the whole batch the sums over all rows.
    """
    if not task.whole_batch:
        sums = _sums(task, outputs, batch)
        return sums, sums
    own = shared_rows(task, outputs, batch)
    replica = tf.distribute.get_replica_context()
    if replica.num_replicas_in_sync == 1:
        sums = _sums(task, own, own)
        return sums, sums
    count = tf.shape(next(iter(own.values())))[0]
    first = tf.cast(replica.replica_id_in_sync_group, tf.int32) * count
    whole = {}
    for name, value in own.items():
        # Copied, because a collective needs the device of its inputs.
        rows = _all_gather(tf.identity(tf.stop_gradient(value)), most_rows, replica)
        whole[name] = tf.concat([rows[:first], value, rows[first + count :]], axis=0)
    terms, weights = task.loss_terms(whole, whole), task.loss_weights(whole)
    weighted = [terms[name] * weights[name] for name in task.loss_names]
    own_sums = tf.stack([tf.reduce_sum(values[first : first + count]) for values in weighted])
    return own_sums, tf.stack([tf.reduce_sum(values) for values in weighted])


def shared_rows(task: Task, outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> dict[str, tf.Tensor]:
    """Return the outputs and batch features of `Task.whole_batch`, (n, ...) each."""
    return {name: tf.convert_to_tensor(outputs[name] if name in outputs else batch[name]) for name in task.whole_batch}


def _all_gather(rows: tf.Tensor, most_rows: int | None, replica: tf.distribute.ReplicaContext) -> tf.Tensor:
    """Concatenate the rows (n, ...) of all replicas: (replicas * n, ...)."""
    if most_rows is None:
        return replica.all_gather(rows, axis=0)
    count, shape = tf.shape(rows)[0], rows.shape[1:]
    padded = tf.pad(rows, [[0, most_rows - count], *[[0, 0]] * len(shape)])
    gathered = replica.all_gather(tf.ensure_shape(padded, [most_rows, *shape]), axis=0)
    return tf.reshape(tf.reshape(gathered, [-1, most_rows, *shape])[:, :count], [-1, *shape])


def _sums(task: Task, outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> tf.Tensor:
    terms, weights = task.loss_terms(outputs, batch), task.loss_weights(batch)
    return tf.stack([tf.reduce_sum(terms[name] * weights[name]) for name in task.loss_names])
