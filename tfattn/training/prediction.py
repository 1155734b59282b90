"""Predictions and metrics for all rows of a split, computed by all replicas."""

import functools
import sys
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
from tfattn.training.whole_batch import loss_sums

Columns = dict[str, np.ndarray]


class Evaluator:
    """An evaluator of a task's metrics on splits, with a single graph.

    Every process gets the metrics of all rows, so that all processes make the same decisions. Only sums are kept in
    memory, and the columns of rows that the task's metrics need.

    Args:
        task: a built task.
        runtime: the runtime in whose scope the task was built.

    Example:
        metrics = Evaluator(task, runtime)(validation)
    """

    def __init__(self, task: Task, runtime: Runtime):
        self._task = task
        self._over_records = _OverRecords(self._compute, runtime)

    def __call__(self, reader: Reader, *, max_batches: int | None = None) -> dict[str, float]:
        """Compute the loss, each of several terms, and the task's metrics, by flat names.

        Args:
            reader: the reader of the split.
            max_batches: the number of batches to read; None reads the whole split.
        """
        columns, record_ids, sums = self._over_records(reader, max_batches)
        texts = reader.texts(reader.source_rows[record_ids])
        metrics = self._task.metrics_from(sums["statistics"], columns | texts)
        return {**mean_losses(sums["sums"], sums["weights"]), **metrics}

    def _compute(self, batch, targets):
        outputs = self._task(batch, training=False)
        sums = {**_loss_sums(self._task, outputs, batch), "statistics": self._task.statistics(outputs, batch)}
        return self._task.per_example(outputs, batch), sums


class Predicted(NamedTuple):
    """The predictions of a task for the rows of a split.

    Attributes:
        values: the task's predictions by name, each (n, ...).
        targets: the true values by name, each (n, ...), of the first example of a row; raw target texts for a task
            that generates text.
        rows: (n,) the index of each row in its split, ascending; rows without examples are missing.
    """

    values: Columns
    targets: Columns
    rows: np.ndarray


def predict(task: Task, reader: Reader, runtime: Runtime) -> Predicted:
    """Predict every row of a split once.

    Args:
        task: a built task, which combines the predictions of several examples of a row.
        reader: the reader of the split.
        runtime: the runtime in whose scope the task was built.

    Example:
        predicted = predict(task, validation, runtime)
    """

    def compute(batch, targets):
        outputs = task(batch, training=False)
        columns = {"values": task.predictions(outputs), "targets": {name: batch[name] for name in targets}}
        return columns, {}

    columns, record_ids, _ = _OverRecords(compute, runtime)(reader)
    record_rows = reader.source_rows[record_ids]
    order = np.argsort(record_rows, kind="stable")
    columns = tf.nest.map_structure(lambda column: column[order], columns)
    rows, firsts, example_rows = np.unique(record_rows[order], return_index=True, return_inverse=True)
    values, targets = columns["values"], columns["targets"]
    if len(rows) < len(record_rows):
        values = as_arrays(task.merge_examples(values, example_rows, len(rows)))
        targets = {name: column[firsts] for name, column in targets.items()}
    return Predicted(values, targets | reader.texts(rows), rows)


def encode(task: Task, reader: Reader, runtime: Runtime) -> tuple[np.ndarray, Columns]:
    """Compute the vectors of a frozen encoder for every record, (records, D) float32, and the targets."""

    def compute(batch, targets):
        encoded = tf.cast(task.encode(batch), tf.float32)
        return {ENCODED: encoded, "targets": {name: batch[name] for name in targets}}, {}

    columns, *_ = _OverRecords(compute, runtime)(reader)
    return columns[ENCODED], columns["targets"]


def precompute(task: Task, reader: Reader, runtime: Runtime) -> Columns:
    """Compute the targets of every record that do not change in training: (records, ...) by name."""
    columns, *_ = _OverRecords(lambda batch, targets: (task.precompute(batch), {}), runtime)(reader)
    return columns


class _OverRecords:
    """A computation of columns and sums over all records of a split.

    Columns are tensors with a leading batch dimension, concatenated in the order of record ids. Without columns, no
    values of records are kept in memory.

    Args:
        compute: takes a batch and the names of its targets; returns columns and sums, both nested dictionaries.
        runtime: the runtime of the devices.
    """

    def __init__(self, compute: Callable, runtime: Runtime):
        self._compute = compute
        self._runtime = runtime
        self._compiled = compiled(self._next)
        self._datasets: dict[Reader, tf.data.Dataset] = {}  # building a dataset takes longer than reading a short split

    def __call__(
        self, reader: Reader, max_batches: int | None = None
    ) -> tuple[dict[str, Any], np.ndarray, dict[str, Any]]:
        if reader not in self._datasets:
            self._datasets[reader] = self._runtime.read(reader, 0)
        iterator = iter(self._datasets[reader])
        parts, numbers, totals = [], [], None
        for _ in range(min(reader.num_batches(0), max_batches or sys.maxsize)):
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
            # Copied, because a collective needs the device of its inputs, and elements of the batch have none yet.
            columns, record_ids, sums = tf.nest.map_structure(tf.identity, (columns, record_ids, sums))
            columns, record_ids = replica.all_gather((columns, record_ids), axis=0)
            sums = replica.all_reduce(tf.distribute.ReduceOp.SUM, sums) if sums else sums
        return columns, record_ids, sums


def as_arrays(predictions: Mapping[str, Any]) -> Columns:
    """Convert tensors by name into numpy arrays."""
    return {name: keras.ops.convert_to_numpy(value) for name, value in predictions.items()}


def _loss_sums(task: Task, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Sum losses and weights for `mean_losses`."""
    sums, _ = loss_sums(task, outputs, batch)
    weights = task.loss_weights(batch)
    return {
        "sums": dict(zip(task.loss_names, tf.unstack(sums, len(task.loss_names)), strict=True)),
        "weights": {name: tf.reduce_sum(weights[name]) for name in task.loss_names},
    }
