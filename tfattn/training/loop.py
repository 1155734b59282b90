"""The training steps: several per call, compiled once, the same result however a batch is divided.

One step: every replica runs its part of the batch, in `accumulation` micro-batches one after another, and sums
loss * weight and its gradients; one all-reduce sums those over all replicas, together with the weight of the batch;
only then are they divided by that weight, clipped and applied. So the batch, not its division, decides the result.

Dropout draws from (seed, step, replica, micro-batch) alone: the states of Keras' seed generators are given anew in
every step, in a stateless scope, so there is nothing to save and nothing to restore.
"""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfattn.data.reader import ROW_IDS
from tfattn.errors import TrainingError
from tfattn.features import MASKS, PADDING_MASK
from tfattn.tasks.task import Task
from tfattn.training.averages import Averaging
from tfattn.training.compiled import compiled
from tfattn.training.optimizers import Optimizer
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Schedule

# What is recorded of every step, in this order.
RECORD = ("loss", "weight", "gradient_norm", "learning_rate", "tokens", "examples", "finite", "fatal")

SECONDS_PER_CALL = 1.0  # after which a call returns, so that progress is shown and a signal is heard
LOSS_SCALE = 2.0**15
GOOD_STEPS = 2000  # after which the loss scale is doubled


@dataclass
class Counters:
    """What a step depends on besides weights and batch.

    Attributes:
        step: batches seen.
        updates: updates made; fewer where float16 overflowed.
        loss_scale: what float16 losses are multiplied by.
        good_steps: steps since the loss scale changed.
    """

    step: int = 0
    updates: int = 0
    loss_scale: float = LOSS_SCALE
    good_steps: int = 0


@dataclass
class Call:
    """What came of one call of the loop.

    Attributes:
        records: (steps, len(RECORD)), of every step.
        counters: as they stand now.
        stopped: some worker asked to stop.
        gradient_norms: (weights,), of the last step, before the division by its weight.
    """

    records: np.ndarray
    counters: Counters
    stopped: bool
    gradient_norms: np.ndarray

    @property
    def fatal(self) -> bool:
        """Whether the last step met a number that is not finite, and a smaller loss scale is no way out."""
        return bool(self.records[-1, RECORD.index("fatal")])


class Loop:
    """Takes up to `limit` steps on the batches of an iterator; call it outside of any replica.

    Args:
        task: a built task.
        optimizer: built for the task's trainable variables.
        schedule: the shares of its learning rate.
        averaging: of the weights, or None.
        total_steps: the length of the run, for the schedule.
        accumulation: micro-batches that a replica's part is divided into; less memory, the same result.
        clip_norm: the largest norm of all gradients together, or None.
        seed: of dropout.
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
        clip_norm: float | None,
        seed: int,
    ):
        self.task = task
        self.optimizer = optimizer
        self.runtime = runtime
        self.schedule = schedule
        self.averaging = averaging
        self.total_steps = total_steps
        self.accumulation = accumulation
        self.clip_norm = clip_norm
        self.seed = seed
        self.scales_loss = runtime.precision == "float16"
        kept = {id(variable) for variable in task.weights}
        self.seed_states = [variable for variable in task.variables if id(variable) not in kept]
        self.fixed = task.non_trainable_weights
        self._compiled = compiled(self._steps)

    def __call__(self, iterator: Any, counters: Counters, *, limit: int, stop: bool) -> Call:
        """Takes steps until `limit`, about a second has passed, a number is not finite, or any worker asks to stop."""
        state = {
            "step": tf.constant(counters.step, tf.int64),
            "updates": tf.constant(counters.updates, tf.int64),
            "loss_scale": tf.constant(counters.loss_scale if self.scales_loss else 1.0),
            "good_steps": tf.constant(counters.good_steps),
        }
        records, state, stopped, norms = self._compiled(iterator, state, tf.constant(limit), tf.constant(float(stop)))
        values = {name: value.numpy().item() for name, value in state.items()}
        return Call(records.numpy(), Counters(**values), bool(stopped), norms.numpy())

    def learning_rate(self, step: int) -> float:
        """The rate of a step, counted from 0."""
        return float(self.schedule(tf.constant(step), self.total_steps)) * self.optimizer.learning_rate

    def _steps(self, iterator, state, limit, stop):
        begin = tf.timestamp()

        def one(count, state, records, *_):
            with tf.control_dependencies([begin]):  # else this clock may be read before that one
                elapsed = tf.cast(tf.timestamp() - begin, tf.float32)
            batch = self.runtime.next(iterator)
            state, record, *rest = self.runtime.run(self._step, batch, state, tf.stack([elapsed, stop]))
            return count + 1, state, records.write(count, record), *rest

        records = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=(len(RECORD),))
        norms = tf.zeros(len(self.optimizer.weights))
        _, state, records, _, stopped, norms = tf.while_loop(
            lambda count, state, records, going, *_: going & (count < limit),
            one,
            (tf.constant(0), state, records, tf.constant(True), tf.constant(False), norms),
            parallel_iterations=1,
        )
        return records.stack(), state, stopped, norms

    def _step(self, batch, state, signals):
        """One step inside a replica."""
        replica = tf.distribute.get_replica_context()
        seeds = self._draw_seeds(state["step"], replica)
        gradients, sums = self._backward(batch, seeds, state["loss_scale"])
        reached = [index for index, gradient in enumerate(gradients) if gradient is not None]
        *summed, sums = replica.all_reduce(
            tf.distribute.ReduceOp.SUM, [*(gradients[index] for index in reached), tf.concat([sums, signals], axis=0)]
        )
        loss_sum, weight, elements, tokens, examples, elapsed, stop = tf.unstack(sums)

        # The gradients are of sum(loss * weight) / elements * loss_scale; wanted is sum(loss * weight) / sum(weight).
        correction = tf.math.divide_no_nan(elements, weight * state["loss_scale"])
        loss = tf.math.divide_no_nan(loss_sum, weight)
        squares = tf.stack([2 * tf.nn.l2_loss(gradient) for gradient in summed])
        norm = tf.sqrt(tf.reduce_sum(squares)) * correction
        finite = tf.math.is_finite(loss) & tf.math.is_finite(norm)
        clip = tf.minimum(1.0, self.clip_norm / norm) if self.clip_norm else 1.0
        share = self.schedule(state["step"], self.total_steps)
        update = tf.cast(state["updates"] + 1, tf.float32)

        def apply():
            for_all = [None] * len(gradients)
            for index, gradient in zip(reached, summed, strict=True):
                for_all[index] = gradient * (correction * clip)
            self.optimizer.apply(for_all, share, update)
            if self.averaging:
                self.averaging.update(update)
            return True

        tf.cond(finite, apply, lambda: False)

        fatal = ~finite & (state["loss_scale"] <= 1)
        going = ~fatal & (stop == 0) & (elapsed < SECONDS_PER_CALL * self.runtime.num_replicas)
        rate = share * self.optimizer.learning_rate
        flags = tf.cast([finite, fatal], tf.float32)
        record = tf.stack([loss, weight, norm, rate, tokens, examples, *tf.unstack(flags)])
        norms = tf.scatter_nd([[index] for index in reached], tf.sqrt(squares), [len(gradients)])
        return self._next_state(state, finite), record, going, stop > 0, norms

    def _backward(self, batch, seeds, loss_scale):
        """Gradients, one per weight or None, and [sum of loss * weight, weights, elements, tokens, examples]."""
        if self.accumulation == 1:
            return self._micro_batch(batch, [seed[0] for seed in seeds], loss_scale)
        parts = {name: _divide(value, self.accumulation) for name, value in batch.items()}
        reached = []

        def one(index, totals, sums):
            part = {name: value[index] for name, value in parts.items()}
            gradients, part_sums = self._micro_batch(part, [seed[index] for seed in seeds], loss_scale)
            reached[:] = [gradient is not None for gradient in gradients]
            totals = [total if new is None else total + new for total, new in zip(totals, gradients, strict=True)]
            return index + 1, totals, sums + part_sums

        zeros = [tf.zeros(weight.shape) for weight in self.optimizer.weights]
        # One after another: side by side they would need the memory that they are there to save.
        _, totals, sums = tf.while_loop(
            lambda index, *_: index < self.accumulation,
            one,
            (tf.constant(0), zeros, tf.zeros(5)),
            parallel_iterations=1,
        )
        return [total if there else None for total, there in zip(totals, reached, strict=True)], sums

    def _micro_batch(self, batch, seeds, loss_scale):
        weights = self.optimizer.weights
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(weights)
            with keras.StatelessScope(list(zip(self.seed_states, seeds, strict=True))) as scope:
                losses, loss_weights = self.task.losses(self.task(batch, training=True), batch)
            loss = tf.reduce_sum(losses * loss_weights)
            # Divided by what is the same for every part, the elements of the batch: sums stay as small as means.
            elements = tf.cast(tf.size(loss_weights), tf.float32)
            scaled = loss * (loss_scale / (elements * (self.accumulation * self.runtime.num_replicas)))
        _refuse_new_state(self.fixed, scope)
        gradients = tape.gradient(scaled, weights)
        real = tf.cast(batch[ROW_IDS] >= 0, tf.float32)
        masks = [batch[name] for name in (PADDING_MASK, *MASKS.values()) if name in batch]
        lengths = [tf.math.count_nonzero(mask, axis=1, dtype=tf.float32) for mask in masks]
        counts = [tf.reduce_sum(sum(lengths, 0.0) * real), tf.reduce_sum(real)]
        sums = tf.stack([loss, tf.reduce_sum(loss_weights), elements, *counts])
        return [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients], sums

    def _draw_seeds(self, step, replica):
        """For every seed generator its states, (accumulation, 2)."""
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

    def _next_state(self, state, finite):
        good_steps = tf.where(finite, state["good_steps"] + 1, 0)
        loss_scale = state["loss_scale"]
        if self.scales_loss:
            due = good_steps >= GOOD_STEPS
            loss_scale = tf.where(finite, tf.where(due, loss_scale * 2, loss_scale), loss_scale / 2)
            good_steps = tf.where(due, 0, good_steps)
        return {
            "step": state["step"] + 1,
            "updates": state["updates"] + tf.cast(finite, tf.int64),
            "loss_scale": loss_scale,
            "good_steps": good_steps,
        }


def _divide(value, count):
    """Consecutive parts along a new first axis: (n, ...) -> (count, n / count, ...)."""
    shape = tf.shape(value)
    return tf.reshape(value, tf.concat([[count, shape[0] // count], shape[1:]], axis=0))


def _refuse_new_state(variables, scope):
    for variable in variables:
        if scope.get_current_value(variable) is not None:
            raise TrainingError(
                "a layer changes a weight that is not trained",
                where=variable.path,
                expected="weights that only the optimizer changes",
                received="a state that follows the batches",
                remedy="Use a norm that keeps no statistics of batches, such as layer normalization.",
            )
