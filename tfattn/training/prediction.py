"""Predictions for every row of a split, and their metrics, computed by all replicas."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from tfattn.data.reader import RECORD_IDS, Reader
from tfattn.features import ENCODED
from tfattn.rows import joined_rows
from tfattn.tasks.task import Task
from tfattn.training.compiled import compiled
from tfattn.training.losses import mean_losses
from tfattn.training.runtime import Runtime

Columns = dict[str, np.ndarray]


class Evaluator:
    """Computes the metrics of a task on one split after another; the graph is made once.

    Every process gets the metrics of all rows, so all of them come to the same decisions. Only sums are held, and of
    each row no more than the task's metrics need.

    Args:
        task: a built task.
        runtime: where it was built.

    Example:
        metrics = Evaluator(task, runtime)(validation)
    """

    def __init__(self, task: Task, runtime: Runtime):
        self._task = task
        self._over_records = _OverRecords(self._compute, runtime)

    def __call__(self, reader: Reader) -> dict[str, float]:
        """Compute the loss, each of several terms, and the task's metrics, by flat names."""
        columns, record_ids, sums = self._over_records(reader)
        texts = reader.texts(reader.source_rows[record_ids])
        metrics = self._task.metrics_from(sums["statistics"], columns | texts)
        return {**mean_losses(sums["sums"], sums["weights"]), **metrics}

    def _compute(self, batch, targets):
        outputs = self._task(batch, training=False)
        sums = {**_loss_sums(self._task, outputs, batch), "statistics": self._task.statistics(outputs, batch)}
        return self._task.per_example(outputs, batch), sums


class Predicted(NamedTuple):
    """What a task predicts for the rows of a split.

    Attributes:
        values: the task's predictions by name, each (n, ...).
        targets: what would be right, each (n, ...), of a row with several examples that of the first. Among them are
            the raw texts that should have been written, where the task is to write.
        rows: (n,) the number of each row in its split, rising; rows without an example are none of them.
    """

    values: Columns
    targets: Columns
    rows: np.ndarray


def predict(task: Task, reader: Reader, runtime: Runtime) -> Predicted:
    """Predict every row of a split once.

    Args:
        task: a built task, which gathers the predictions of several examples of one row.
        reader: of the split.
        runtime: where the task was built.

    Example:
        predicted = predict(task, validation, runtime)
    """

    def compute(batch, targets):
        outputs = task(batch, training=False)
        columns = {"values": task.predictions(outputs), "targets": {name: batch[name] for name in targets}}
        return columns, {}

    columns, record_ids, _ = _OverRecords(compute, runtime)(reader)
    of_record = reader.source_rows[record_ids]
    order = np.argsort(of_record, kind="stable")
    columns = tf.nest.map_structure(lambda column: column[order], columns)
    rows, firsts, of_example = np.unique(of_record[order], return_index=True, return_inverse=True)
    values, targets = columns["values"], columns["targets"]
    if len(rows) < len(of_record):
        values = as_arrays(task.merge_examples(values, of_example, len(rows)))
        targets = {name: column[firsts] for name, column in targets.items()}
    return Predicted(values, targets | reader.texts(rows), rows)


def encode(task: Task, reader: Reader, runtime: Runtime) -> tuple[np.ndarray, Columns]:
    """Compute what a frozen encoder contributes to every record, (records, D) float32; also the targets."""

    def compute(batch, targets):
        encoded = tf.cast(task.encode(batch), tf.float32)
        return {ENCODED: encoded, "targets": {name: batch[name] for name in targets}}, {}

    columns, *_ = _OverRecords(compute, runtime)(reader)
    return columns[ENCODED], columns["targets"]


class _OverRecords:
    """Computes columns, tensors with a leading batch dimension, and sums, over all records of a split.

    Columns are returned in the order of record ids, with these; where there are none, nothing is held of any record.

    Args:
        compute: takes a batch and the names of its targets, returns columns and sums, each nested dictionaries.
        runtime: of the devices.
    """

    def __init__(self, compute: Callable, runtime: Runtime):
        self._compute = compute
        self._runtime = runtime
        self._compiled = compiled(self._next)
        self._datasets: dict[Reader, tf.data.Dataset] = {}  # kept: to build one takes longer than to read a short split

    def __call__(self, reader: Reader) -> tuple[dict[str, Any], np.ndarray, dict[str, Any]]:
        if reader not in self._datasets:
            self._datasets[reader] = self._runtime.read(reader, 0)
        iterator = iter(self._datasets[reader])
        parts, numbers, totals = [], [], None
        for _ in range(reader.num_batches(0)):
            batch = self._compiled(iterator, reader.targets)
            columns, record_ids, sums = tf.nest.map_structure(lambda value: value.numpy(), batch)
            sums = tf.nest.map_structure(lambda value: value.astype(np.float64), sums)
            totals = tf.nest.map_structure(np.add, totals, sums) if totals else sums
            if columns:
                real = record_ids >= 0
                parts.append(tf.nest.map_structure(lambda value: value[real], columns))  # noqa: B023 - called at once
                numbers.append(record_ids[real])
        if not parts:
            return {}, np.zeros(0, np.int32), totals
        record_ids = np.concatenate(numbers)
        order = np.argsort(record_ids)
        columns = tf.nest.map_structure(lambda *values: joined_rows(values)[order], *parts)
        return columns, record_ids[order], totals

    def _next(self, iterator, targets):
        return self._runtime.run(functools.partial(self._replica, targets=targets), self._runtime.next(iterator))

    def _replica(self, batch, targets):
        columns, sums = self._compute(batch, targets)
        record_ids = batch[RECORD_IDS]
        if self._runtime.num_replicas > 1:
            replica = tf.distribute.get_replica_context()
            # Copied, because a collective asks for the device, and what was read from the batch has none yet.
            columns, record_ids, sums = tf.nest.map_structure(tf.identity, (columns, record_ids, sums))
            columns, record_ids = replica.all_gather((columns, record_ids), axis=0)
            sums = replica.all_reduce(tf.distribute.ReduceOp.SUM, sums) if sums else sums
        return columns, record_ids, sums


def as_arrays(predictions: Mapping[str, Any]) -> Columns:
    """Turn tensors by name into numpy arrays."""
    return {name: keras.ops.convert_to_numpy(value) for name, value in predictions.items()}


def _loss_sums(task: Task, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Sum losses and weights for `mean_losses`."""
    terms, weights = task.loss_terms(outputs, batch), task.loss_weights(batch)
    return {
        "sums": {name: tf.reduce_sum(terms[name] * weights[name]) for name in task.loss_names},
        "weights": {name: tf.reduce_sum(weights[name]) for name in task.loss_names},
    }
