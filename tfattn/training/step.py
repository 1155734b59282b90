"""A training step, whose result does not depend on the division of a batch among replicas.

First, the weights of the whole batch are summed over all replicas for each term of the loss. Then every replica
computes its part of the batch, in `accumulation` micro-batches, and divides losses and gradients by these sums (a task
with `sum_reduction` does not divide gradients). Finally an all-reduce sums both over all replicas.

Dropout depends on (seed, step, replica, micro-batch) alone: the states of Keras' seed generators are set in every step,
in a stateless scope, so checkpoints do not contain them.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfattn.data.reader import RECORD_IDS
from tfattn.errors import TrainingError
from tfattn.tasks.task import Task
from tfattn.training import gradients as sums
from tfattn.training.averages import Averaging
from tfattn.training.optimizers import Optimizer
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Schedule
from tfattn.training.whole_batch import loss_sums, shared_rows

# The recorded values of every step, in this order; the mean and the weight of each loss term follow.
RECORD = ("loss", "gradient_norm", "learning_rate", "tokens", "examples", "finite", "fatal")

LOSS_SCALE = 2.0**15
GOOD_STEPS = 2000  # after which the loss scale is doubled


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
        self.fixed = task.non_trainable_weights

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
        gradients, losses = self._backward(
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
        """Compute the gradients, one per weight or None, and the losses (terms,) of this replica's part."""
        if self.accumulation == 1:
            return self._micro_batch(batch, [seed[0] for seed in seeds], factors, loss_scale)
        parts = {name: _divide(value, self.accumulation) for name, value in batch.items()}

        def part(index):
            return {name: value[index] for name, value in parts.items()}, [seed[index] for seed in seeds]

        if self.task.whole_batch:
            return self._backward_from_vectors(part, factors, loss_scale)
        return sums.accumulate(lambda index: self._micro_batch(*part(index), factors, loss_scale), self.accumulation)

    def _micro_batch(self, batch, seeds, factors, loss_scale):
        weights = self.optimizer.weights
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            with self._with_seeds(seeds):
                own, total = loss_sums(self.task, self.task(batch, training=True), batch, most_rows=self.most_rows)
            scaled = self._scaled(total, factors, loss_scale)
        return sums.densify(tape.gradient(scaled, weights), sparse_tables=self.sparse_embeddings), own * factors

    def _backward_from_vectors(self, part, factors, loss_scale):
        """Compute gradients of a loss that reads the whole batch: every micro-batch is computed twice.

        The outputs of all micro-batches are computed first, then the gradient of the loss by the outputs, then the
        gradient of the outputs by the weights. Dropout is the same both times.
        """

        def outputs_of(index):
            rows, seeds = part(index)
            return shared_rows(self.task, self._forward(rows, seeds), rows)

        shared = sums.concatenate_parts(outputs_of, self.accumulation)
        vectors = {name: value for name, value in shared.items() if name not in part(0)[0]}
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(vectors)
            own, total = loss_sums(self.task, vectors, shared, most_rows=self.most_rows)
            scaled = self._scaled(total, factors, loss_scale)
        upstream = {
            name: _divide(gradient, self.accumulation) for name, gradient in tape.gradient(scaled, vectors).items()
        }
        weights = self.optimizer.weights

        def micro_batch(index):
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(weights)
                outputs = self._forward(*part(index))
                product = sum(tf.reduce_sum(outputs[name] * of_part[index]) for name, of_part in upstream.items())
            gradients = tape.gradient(product, weights)
            return sums.densify(gradients, sparse_tables=self.sparse_embeddings), tf.zeros_like(own)

        gradients, _ = sums.accumulate(micro_batch, self.accumulation)
        return gradients, own * factors

    def _forward(self, batch, seeds):
        with self._with_seeds(seeds):
            return self.task(batch, training=True)

    @contextlib.contextmanager
    def _with_seeds(self, seeds):
        """Set the states of the seed generators, and check that no other state changes."""
        with keras.StatelessScope(list(zip(self.seed_states, seeds, strict=True))) as scope:
            yield
        _refuse_new_state(self.fixed, scope)

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
                expected="weights that only the optimizer changes",
                received="a state that depends on the batches",
                remedy="Use a normalization without batch statistics, such as layer normalization.",
            )
