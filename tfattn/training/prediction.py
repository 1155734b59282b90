"""Predictions for every row of a split, and their metrics, computed by all replicas."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.data.reader import ROW_IDS, Reader
from tfattn.features import ENCODED
from tfattn.tasks.task import Task
from tfattn.training.compiled import compiled
from tfattn.training.losses import LOSS, mean_losses
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
        self._over_rows = _OverRows(self._compute, runtime)

    def __call__(self, reader: Reader) -> dict[str, float]:
        """Compute the loss, each of several terms, and the task's metrics, by flat names."""
        rows, row_ids, sums = self._over_rows(reader)
        metrics = self._task.metrics_from(sums["statistics"], rows | reader.texts(row_ids))
        return {**mean_losses(sums["sums"], sums["weights"]), **metrics}

    def _compute(self, batch, targets):
        outputs = self._task(batch, training=False)
        sums = {**_loss_sums(self._task, outputs, batch), "statistics": self._task.statistics(outputs, batch)}
        return self._task.of_each_row(outputs, batch), sums


def predict(task: Task, reader: Reader, runtime: Runtime) -> tuple[Columns, Columns, float]:
    """Predict every row of a split once.

    Args:
        task: a built task.
        reader: of the split.
        runtime: where the task was built.

    Returns:
        the task's predictions and the targets, each (rows, ...), in the order of row ids, and the mean loss. The
        targets include the raw texts where the task writes texts.

    Example:
        predictions, targets, loss = predict(task, validation, runtime)
    """

    def compute(batch, targets):
        outputs = task(batch, training=False)
        columns = {"predictions": task.predictions(outputs), "targets": {name: batch[name] for name in targets}}
        return columns, _loss_sums(task, outputs, batch)

    columns, row_ids, sums = _OverRows(compute, runtime)(reader)
    return columns["predictions"], columns["targets"] | reader.texts(row_ids), mean_losses(**sums)[LOSS]


def encode(task: Task, reader: Reader, runtime: Runtime) -> tuple[np.ndarray, Columns]:
    """Compute the vectors of a frozen encoder, (rows, D) float32, and read the targets, in the order of row ids."""

    def compute(batch, targets):
        encoded = tf.cast(task.encode(batch), tf.float32)
        return {ENCODED: encoded, "targets": {name: batch[name] for name in targets}}, {}

    columns, *_ = _OverRows(compute, runtime)(reader)
    return columns[ENCODED], columns["targets"]


class _OverRows:
    """Computes columns, tensors with a leading batch dimension, and sums, over all rows of a split.

    Columns are returned in the order of row ids, with these; where there are none, nothing is held of any row.

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
            columns, row_ids, sums = tf.nest.map_structure(lambda value: value.numpy(), batch)
            sums = tf.nest.map_structure(lambda value: value.astype(np.float64), sums)
            totals = tf.nest.map_structure(np.add, totals, sums) if totals else sums
            if columns:
                real = row_ids >= 0
                parts.append(tf.nest.map_structure(lambda value: value[real], columns))  # noqa: B023 - called at once
                numbers.append(row_ids[real])
        if not parts:
            return {}, np.zeros(0, np.int32), totals
        row_ids = np.concatenate(numbers)
        order = np.argsort(row_ids)
        columns = tf.nest.map_structure(lambda *values: _joined(values)[order], *parts)
        return columns, row_ids[order], totals

    def _next(self, iterator, targets):
        return self._runtime.run(functools.partial(self._replica, targets=targets), self._runtime.next(iterator))

    def _replica(self, batch, targets):
        columns, sums = self._compute(batch, targets)
        row_ids = batch[ROW_IDS]
        if self._runtime.num_replicas > 1:
            replica = tf.distribute.get_replica_context()
            # Copied, because a collective asks for the device, and what was read from the batch has none yet.
            columns, row_ids, sums = tf.nest.map_structure(tf.identity, (columns, row_ids, sums))
            columns, row_ids = replica.all_gather((columns, row_ids), axis=0)
            sums = replica.all_reduce(tf.distribute.ReduceOp.SUM, sums) if sums else sums
        return columns, row_ids, sums


def _loss_sums(task: Task, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Sum losses and weights for `mean_losses`."""
    terms, weights = task.loss_terms(outputs, batch), task.loss_weights(batch)
    return {
        "sums": {name: tf.reduce_sum(terms[name] * weights[name]) for name in task.loss_names},
        "weights": {name: tf.reduce_sum(weights[name]) for name in task.loss_names},
    }


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Join the rows of all batches; the other axes are padded with 0 to the longest."""
    widest = np.max([part.shape for part in parts], axis=0)[1:]
    padded = [
        np.pad(part, [(0, 0), *((0, end - size) for end, size in zip(widest, part.shape[1:], strict=True))])
        for part in parts
    ]
    return np.concatenate(padded)
