"""A training step, whose result does not depend on the division of a batch among replicas.

First, the weights of the whole batch are summed over all replicas for each term of the loss. Then every replica
computes its part of the batch, in `accumulation` micro-batches, and divides losses and gradients by these sums (a task
with `sum_reduction` does not divide gradients). Finally an all-reduce sums both over all replicas. The moments of batch
normalization are those of the whole batch too, see batch_statistics.py.

Dropout depends on (seed, step, replica, micro-batch) alone: the states of Keras' seed generators are set in every step,
in a stateless scope, so checkpoints do not contain them.
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfattn.data.reader import RECORD_IDS
from tfattn.errors import TrainingError
from tfattn.ops.batch_moments import BatchScope
from tfattn.tasks.task import Task
from tfattn.training import gradients as sums
from tfattn.training.averages import Averaging
from tfattn.training.batch_statistics import MicroBatchMoments, ReplicaScope
from tfattn.training.optimizers import Optimizer
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Schedule
from tfattn.training.variables import fixed_weights, running_averages
from tfattn.training.whole_batch import loss_sums, shared_rows

# The recorded values of every step, in this order; the mean and the weight of each loss term follow.
RECORD = ("loss", "gradient_norm", "learning_rate", "tokens", "examples", "finite", "fatal")

LOSS_SCALE = 2.0**15
GOOD_STEPS = 2000  # after which the loss scale is doubled
UPSTREAM = "upstream/"  # prefix of the gradient of an output, among the features of a micro-batch


class TrainingStep:
    """An update of the weights by a batch; call it inside a replica.

    Args:
        task: a built task.
        optimizer: built for the task's trainable variables.
        runtime: the runtime in whose scope both were built.
        schedule: the fraction of the learning rate for each step.
        averaging: the average of the weights, or None.
        total_steps: the length of the run, for the schedule.
        accumulation: the number of micro-batches of a replica's part; more need less memory, with the same result.
        updates: the number of parts of a batch, each with its own update.
        clip_norm: the maximum global norm of the gradients, or None.
        sparse_embeddings: whether the gradients of embedding tables contain only the rows of the batch.
        masks: the names of the batch's padding masks, for counting tokens.
        seed: the seed of dropout.
        batch_rows: the maximum number of rows of a batch.
    """

    def __init__(
        self,
        task: Task,
        optimizer: Optimizer,
        runtime: Runtime,
        *,
        schedule: Schedule,
        averaging: Averaging | None,
        total_steps: int,
        accumulation: int,
        updates: int,
        clip_norm: float | None,
        sparse_embeddings: bool,
        masks: Sequence[str],
        seed: int,
        batch_rows: int,
    ):
        self.task = task
        self.optimizer = optimizer
        self.runtime = runtime
        self.schedule = schedule
        self.averaging = averaging
        self.total_steps = total_steps
        self.accumulation = accumulation
        self.updates = updates
        self.clip_norm = clip_norm
        self.sparse_embeddings = sparse_embeddings
        self.merges_rows = clip_norm is not None or not optimizer.is_linear
        self.masks = tuple(masks)
        self.seed = seed
        # Of this replica's part of a batch or update, see `Reader.dataset`.
        self.most_rows = -(-batch_rows // (updates * runtime.num_replicas * accumulation)) * accumulation
        self.scales_loss = runtime.precision == "float16"
        kept = {id(variable) for variable in task.weights}
        self.seed_states = [variable for variable in task.variables if id(variable) not in kept]
        self.running = running_averages(task)
        self.fixed = fixed_weights(task)

    def learning_rate(self, step: int) -> float:
        """Compute the learning rate of a step, counted from 0."""
        return float(self.schedule(tf.constant(step), self.total_steps)) * self.optimizer.learning_rate

    def __call__(
        self, batch: dict[str, Any], state: dict[str, tf.Tensor], signals: tf.Tensor, number: tf.Tensor | int = 0
    ) -> tuple:
        """Take the step.

        Args:
            batch: this replica's part of the batch; with several updates, along a first axis.
            state: `step`, `updates`, `loss_scale` and `good_steps`, see `loop.Counters`.
            signals: (2,) float32, summed over all replicas: seconds since the start of the call, requests to stop.
            number: the index of the update in the batch.

        Returns:
            the next state, the record of the step, the two sums of signals, and the gradient norm of each weight.
        """
        replica = tf.distribute.get_replica_context()
        if self.updates > 1:
            batch = {name: tf.gather(value, number) for name, value in batch.items()}
        totals = tf.concat([self._weights(batch), self._counts(batch), signals], axis=0)
        totals = replica.all_reduce(tf.distribute.ReduceOp.SUM, totals)
        weights, (tokens, examples, elapsed, stop) = totals[:-4], tf.unstack(totals[-4:])
        factors = tf.math.divide_no_nan(1.0, weights)
        gradients, losses, averages = self._backward(
            batch, self._draw_seeds(state["step"], number, replica), factors, state["loss_scale"]
        )
        gradients, losses = sums.all_reduce(
            gradients, losses, replica, gather_rows=self.runtime.num_workers == 1, merge_rows=self.merges_rows
        )

        loss = tf.reduce_sum(losses)
        reached = [index for index, gradient in enumerate(gradients) if gradient is not None]
        squares = tf.stack([sums.sum_of_squares(gradients[index]) for index in reached])
        norm = tf.sqrt(tf.reduce_sum(squares)) / state["loss_scale"]
        finite = tf.math.is_finite(loss) & tf.math.is_finite(norm)
        clip = tf.minimum(1.0, self.clip_norm / norm) if self.clip_norm else 1.0
        fraction = self.schedule(state["step"], self.total_steps)
        update = tf.cast(state["updates"] + 1, tf.float32)

        def apply():
            changes = gradients
            if self.clip_norm or self.scales_loss:
                changes = [sums.scale(gradient, clip / state["loss_scale"]) for gradient in gradients]
            self.optimizer.apply(changes, fraction, update)
            for variable, value in zip(self.running, averages, strict=True):
                tf.raw_ops.AssignVariableOp(resource=variable.value.handle, value=value)
            if self.averaging:
                self.averaging.update(update)
            return True

        tf.cond(finite, apply, lambda: False)

        fatal = ~finite & (state["loss_scale"] <= 1)
        rate = fraction * self.optimizer.learning_rate
        facts = tf.stack([loss, norm, rate, tokens, examples, *tf.unstack(tf.cast([finite, fatal], tf.float32))])
        record = tf.concat([facts, losses, weights], axis=0)
        norms = tf.sqrt(squares) / state["loss_scale"]
        norms = tf.scatter_nd([[index] for index in reached], norms, [len(gradients)])
        is_last = tf.cast(fatal | tf.equal(number, self.updates - 1), tf.int64)
        return self._next_state(state, finite, is_last), record, tf.stack([elapsed, stop]), norms

    def _weights(self, batch):
        """Sum the weights of each term of the loss: (terms,)."""
        weights = self.task.loss_weights(batch)
        return tf.stack([tf.reduce_sum(weights[name]) for name in self.task.loss_names])

    def _counts(self, batch):
        """Count real tokens and rows: (2,)."""
        real = tf.cast(batch[RECORD_IDS] >= 0, tf.float32)
        masks = [batch[name] for name in self.masks]
        lengths = [tf.math.count_nonzero(mask, range(1, mask.shape.rank), dtype=tf.float32) for mask in masks]
        return tf.stack([tf.reduce_sum(sum(lengths, 0.0) * real), tf.reduce_sum(real)])

    def _backward(self, batch, seeds, factors, loss_scale):
        """Compute the gradients, one per weight or None, the losses (terms,) and the new running averages of this part.

        The averages are those of the whole batch, the others this replica's.
        """

        def objective_of(outputs, rows):
            own, total = loss_sums(self.task, outputs, rows, most_rows=self.most_rows)
            return self._scaled(total, factors, loss_scale), own * factors

        if self.accumulation == 1:
            scope, own_seeds = ReplicaScope(batch[RECORD_IDS] >= 0), [seed[0] for seed in seeds]
            return self._differentiate(lambda: self._compute(batch, own_seeds, scope, objective_of))
        parts = {name: _divide(value, self.accumulation) for name, value in batch.items()}

        def compute(index, scope, function=lambda *_: ()):
            rows, own_seeds = {name: value[index] for name, value in parts.items()}, [seed[index] for seed in seeds]
            return self._compute(rows, own_seeds, scope, function)

        moments, averages = None, []
        if self.running:
            moments = MicroBatchMoments(compute, parts[RECORD_IDS] >= 0)
            averages = compute(0, moments.scope(0))[-1]
        scope_of = moments.scope if moments else lambda index: BatchScope()
        if self.task.whole_batch:
            objective_of = self._objective_by_vectors(
                parts, lambda index, function: compute(index, scope_of(index), function), objective_of
            )

        def objective(index, scope):
            return compute(index, scope, objective_of)[:-1]

        if moments:
            return *moments.gradients(objective, self._differentiate), averages
        accumulated = sums.accumulate(
            lambda index: self._differentiate(lambda: objective(index, scope_of(index))), self.accumulation
        )
        return *accumulated, averages

    def _compute(self, rows, seeds, scope, function):
        """Compute a function of the outputs and the rows; return its results, then the running averages after them.

        The states of the seed generators are set. No state but the running averages may change.
        """
        with scope, keras.StatelessScope(list(zip(self.seed_states, seeds, strict=True))) as states:
            results = function(self.task(rows, training=True), rows)
        _refuse_new_state(self.fixed, states)
        return *results, [states.get_current_value(variable) for variable in self.running]

    def _differentiate(self, objective):
        """Compute the gradients of the first result of a function; return them, then the other results."""
        weights = self.optimizer.weights
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            scaled, *others = objective()
        return sums.densify(tape.gradient(scaled, weights), sparse_tables=self.sparse_embeddings), *others

    def _objective_by_vectors(self, parts, compute, objective_of):
        """Return the objective of a micro-batch of a loss that reads the whole batch.

        The outputs of all micro-batches are computed first, then the gradient of the loss by the outputs: the objective
        is their product. So every micro-batch is computed twice, with the same dropout.
        """

        def outputs_of(index):
            return compute(index, lambda outputs, rows: [shared_rows(self.task, outputs, rows)])[0]

        shared = sums.concatenate_parts(outputs_of, self.accumulation)
        vectors = {name: value for name, value in shared.items() if name not in parts}
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(vectors)
            scaled, losses = objective_of(vectors, shared)
        upstream = tape.gradient(scaled, vectors)
        parts |= {UPSTREAM + name: _divide(gradient, self.accumulation) for name, gradient in upstream.items()}

        def product(outputs, rows):
            total = sum(tf.reduce_sum(outputs[name] * rows[UPSTREAM + name]) for name in upstream)
            return total, losses / self.accumulation

        return product

    def _scaled(self, loss_sums, factors, loss_scale):
        """Return the scalar to differentiate."""
        total = tf.reduce_sum(loss_sums if self.task.sum_reduction else loss_sums * factors)
        return total * loss_scale if self.scales_loss else total

    def _draw_seeds(self, step, number, replica):
        """Draw the states of every seed generator, (accumulation, 2)."""
        step = step * self.updates + tf.cast(number, tf.int64)
        number = step * self.runtime.num_replicas + tf.cast(replica.replica_id_in_sync_group, tf.int64)
        seeds = tf.random.stateless_uniform(
            (len(self.seed_states), self.accumulation, 2),
            seed=tf.stack([tf.constant(self.seed, tf.int64), number]),
            minval=0,
            maxval=tf.int32.max,
            dtype=tf.int32,
            alg="philox",
        )
        return [tf.cast(seeds[index], state.dtype) for index, state in enumerate(self.seed_states)]

    def _next_state(self, state, finite, is_last):
        good_steps = tf.where(finite, state["good_steps"] + 1, 0)
        loss_scale = state["loss_scale"]
        if self.scales_loss:
            due = good_steps >= GOOD_STEPS
            loss_scale = tf.where(finite, tf.where(due, loss_scale * 2, loss_scale), loss_scale / 2)
            good_steps = tf.where(due, 0, good_steps)
        return {
            "step": state["step"] + is_last,
            "updates": state["updates"] + tf.cast(finite, tf.int64),
            "loss_scale": loss_scale,
            "good_steps": good_steps,
        }


def _divide(value, count):
    """Divide a batch into consecutive parts along a new first axis: (n, ...) -> (count, n / count, ...)."""
    shape = tf.shape(value)
    return tf.reshape(value, tf.concat([[count, shape[0] // count], shape[1:]], axis=0))


def _refuse_new_state(variables, scope):
    for variable in variables:
        if scope.get_current_value(variable) is not None:
            raise TrainingError(
                "a layer changes a weight that is not trained",
                where=variable.path,
                expected="weights that only the optimizer changes, or running averages of tfattn's batch normalization",
                received="a state that depends on the batches",
                remedy="Use tfattn.layers.BatchNormalization, or layer normalization.",
            )
