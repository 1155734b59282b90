"""What a task answers to every row of a split, in the order of the rows, computed by all replicas."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.data.reader import ROW_IDS, Reader
from tfattn.features import ENCODED, MASKS, PADDING_MASK, SEGMENT_IDS, TOKEN_IDS, WEIGHTS
from tfattn.tasks.task import Task
from tfattn.training.compiled import compiled
from tfattn.training.runtime import Runtime

# What models read, sequences of which batches have different widths, and what a row only carries along.
NOT_TARGETS = {TOKEN_IDS, SEGMENT_IDS, PADDING_MASK, *MASKS, *MASKS.values(), ENCODED, ROW_IDS, WEIGHTS}

Columns = dict[str, np.ndarray]


class Predictor:
    """Answers one split after another; the graph is made once.

    Every process gets the answers of all, so all of them come to the same decisions.

    Args:
        task: a built task.
        runtime: where it was built.

    Example:
        answers, targets, loss = Predictor(task, runtime)(validation)
        metrics = task.measure(answers, targets)
    """

    def __init__(self, task: Task, runtime: Runtime):
        self._task = task
        self._over_rows = _OverRows(self._compute, runtime)

    def __call__(self, reader: Reader) -> tuple[Columns, Columns, float]:
        """Answers all rows.

        Returns:
            the task's answers and the targets, each (rows, ...), in the order of row ids, and the mean loss. Among the
            targets are the raw texts that should have been written, where the task is to write.
        """
        columns, row_ids, (loss, weight) = self._over_rows(reader)
        targets = columns["targets"] | reader.texts(row_ids)
        return columns["answers"], targets, float(loss / weight) if weight else 0.0

    def _compute(self, batch):
        outputs = self._task(batch, training=False)
        losses, weights = self._task.losses(outputs, batch)
        columns = {"answers": self._task.answers(outputs), "targets": _targets(batch)}
        return columns, tf.stack([tf.reduce_sum(losses * weights), tf.reduce_sum(weights)])


def predict(task: Task, reader: Reader, runtime: Runtime) -> tuple[Columns, Columns, float]:
    """Answers every row of a split once; see `Predictor`."""
    return Predictor(task, runtime)(reader)


def encode(task: Task, reader: Reader, runtime: Runtime) -> tuple[np.ndarray, Columns]:
    """What a frozen encoder contributes for every row, (rows, D) float32, and the targets, in the order of row ids."""

    def compute(batch):
        return {ENCODED: tf.cast(task.encode(batch), tf.float32), "targets": _targets(batch)}, tf.zeros(2)

    columns, *_ = _OverRows(compute, runtime)(reader)
    return columns[ENCODED], columns["targets"]


class _OverRows:
    """Computes columns, tensors with a leading batch dimension, and sums, over all rows of a split."""

    def __init__(self, compute: Callable, runtime: Runtime):
        self._compute = compute
        self._runtime = runtime
        self._compiled = compiled(self._next)
        self._datasets: dict[Reader, tf.data.Dataset] = {}  # kept: to build one takes longer than to read a short split

    def __call__(self, reader: Reader) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        if reader not in self._datasets:
            self._datasets[reader] = self._runtime.read(reader, 0)
        iterator = iter(self._datasets[reader])
        parts, numbers, total = [], [], np.zeros(2)
        for _ in range(reader.num_batches(0)):
            columns, row_ids, sums = tf.nest.map_structure(lambda value: value.numpy(), self._compiled(iterator))
            real = row_ids >= 0
            parts.append(tf.nest.map_structure(lambda value: value[real], columns))  # noqa: B023 - called at once
            numbers.append(row_ids[real])
            total += sums
        row_ids = np.concatenate(numbers)
        order = np.argsort(row_ids)
        return tf.nest.map_structure(lambda *values: np.concatenate(values)[order], *parts), row_ids[order], total

    def _next(self, iterator):
        return self._runtime.run(self._replica, self._runtime.next(iterator))

    def _replica(self, batch):
        columns, sums = self._compute(batch)
        row_ids = batch[ROW_IDS]
        if self._runtime.num_replicas > 1:
            replica = tf.distribute.get_replica_context()
            # Copied, because a collective asks for the device, and what was read from the batch has none yet.
            own = tf.nest.map_structure(tf.identity, (columns, row_ids))
            columns, row_ids = replica.all_gather(own, axis=0)
            sums = replica.all_reduce(tf.distribute.ReduceOp.SUM, sums)
        return columns, row_ids, sums


def _targets(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if name not in NOT_TARGETS}
