"""The training loop: several steps in one compiled function."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.training.compiled import compiled
from tfattn.training.runtime import Runtime
from tfattn.training.step import LOSS_SCALE, RECORD, TrainingStep

SECONDS_PER_CALL = 1.0  # after which a call returns, to show progress and to handle signals


@dataclass
class Counters:
    """The counters of a run.

    Attributes:
        step: the number of batches read.
        updates: the number of updates of the weights; fewer than steps after overflows of float16.
        loss_scale: the factor of float16 losses.
        good_steps: the number of steps since the loss scale changed.
    """

    step: int = 0
    updates: int = 0
    loss_scale: float = LOSS_SCALE
    good_steps: int = 0


@dataclass
class StepsTaken:
    """The result of a call of the loop.

    Attributes:
        records: the values of `RECORD` for every step, each (steps,).
        losses, weights: the mean and the weight of each loss term for every step, each (steps,).
        counters: the counters after the last step.
        stopped: whether a worker was asked to stop.
        gradient_norms: (weights,), of the last step.
    """

    records: dict[str, np.ndarray]
    losses: dict[str, np.ndarray]
    weights: dict[str, np.ndarray]
    counters: Counters
    stopped: bool
    gradient_norms: np.ndarray

    def __len__(self) -> int:
        return len(self.records["loss"])

    @property
    def fatal(self) -> bool:
        """Whether the last step had a non-finite number that a smaller loss scale cannot avoid."""
        return bool(self.records["fatal"][-1])


class TrainingLoop:
    """A loop of training steps on the batches of an iterator; call it outside of replicas.

    Args:
        step: the training step.
        runtime: the runtime in whose scope the task was built.
    """

    def __init__(self, step: TrainingStep, runtime: Runtime):
        self.step = step
        self.runtime = runtime
        self.terms = step.task.loss_names
        self._compiled = compiled(self._steps)

    def __call__(self, iterator: Any, counters: Counters, *, limit: int, stop: bool) -> StepsTaken:
        """Take up to `limit` steps; stop after about a second, a non-finite number, or a request of any worker."""
        state = {
            "step": tf.constant(counters.step, tf.int64),
            "updates": tf.constant(counters.updates, tf.int64),
            "loss_scale": tf.constant(counters.loss_scale if self.step.scales_loss else 1.0),
            "good_steps": tf.constant(counters.good_steps),
        }
        records, state, stopped, norms = self._compiled(iterator, state, tf.constant(limit), tf.constant(float(stop)))
        values = {name: value.numpy().item() for name, value in state.items()}
        facts, losses, weights = np.split(records.numpy().T, np.cumsum([len(RECORD), len(self.terms)]))
        return StepsTaken(
            records=dict(zip(RECORD, facts, strict=True)),
            losses=dict(zip(self.terms, losses, strict=True)),
            weights=dict(zip(self.terms, weights, strict=True)),
            counters=Counters(**values),
            stopped=bool(stopped),
            gradient_norms=norms.numpy(),
        )

    def _steps(self, iterator, state, limit, stop):
        start = tf.timestamp()

        def body(count, state, records, *_):
            with tf.control_dependencies([start]):  # otherwise TensorFlow may read this time before the start
                elapsed = tf.cast(tf.timestamp() - start, tf.float32)
            batch = self.runtime.next(iterator)
            state, record, signals, norms = self._updates(batch, state, tf.stack([elapsed, stop]))
            fatal, (elapsed, stops) = record[RECORD.index("fatal")] > 0, tf.unstack(signals)
            continues = ~fatal & (stops == 0) & (elapsed < SECONDS_PER_CALL * self.runtime.num_replicas)
            return count + 1, state, records.write(count, record), continues, stops > 0, norms

        records, norms = self._empty()
        _, state, records, _, stopped, norms = tf.while_loop(
            lambda count, state, records, continues, *_: continues & (count < limit),
            body,
            (tf.constant(0), state, records, tf.constant(True), tf.constant(False), norms),
            parallel_iterations=1,
        )
        return records.stack(), state, stopped, norms

    def _updates(self, batch, state, signals):
        """Take the step of a batch, or the steps of its parts, and join their records; stop at a non-finite part."""
        if self.step.updates == 1:
            return self.runtime.run(self.step, batch, state, signals)

        def body(number, state, records, *_):
            state, record, totals, norms = self.runtime.run(self.step, batch, state, signals, number)
            fatal = record[RECORD.index("fatal")] > 0
            return number + 1, state, records.write(number, record), fatal, totals, norms

        records, norms = self._empty()
        _, state, records, _, totals, norms = tf.while_loop(
            lambda number, state, records, fatal, *_: ~fatal & (number < self.step.updates),
            body,
            (tf.constant(0), state, records, tf.constant(False), signals, norms),
            parallel_iterations=1,
        )
        return state, self._join(records.stack()), totals, norms

    def _empty(self):
        """Return an empty array of records, and zero gradient norms."""
        width = len(RECORD) + 2 * len(self.terms)
        records = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=(width,))
        return records, tf.zeros(len(self.step.optimizer.weights))

    def _join(self, records):
        """Join the records of the parts of a batch: (parts, width) -> (width,)."""
        facts, losses, weights = tf.split(records, [len(RECORD), len(self.terms), len(self.terms)], axis=1)
        means = tf.math.divide_no_nan(tf.reduce_sum(losses * weights, axis=0), tf.reduce_sum(weights, axis=0))
        _, norm, rate, tokens, examples, finite, fatal = tf.unstack(facts, axis=1)
        joined = [
            tf.reduce_sum(means),
            tf.reduce_mean(norm),
            rate[-1],
            tf.reduce_sum(tokens),
            tf.reduce_sum(examples),
            tf.reduce_min(finite),
            tf.reduce_max(fatal),
        ]
        return tf.concat([joined, means, tf.reduce_sum(weights, axis=0)], axis=0)
