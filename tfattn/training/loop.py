"""Training steps, several per call, in one compiled function."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.training.compiled import compiled
from tfattn.training.runtime import Runtime
from tfattn.training.step import LOSS_SCALE, RECORD, TrainingStep

SECONDS_PER_CALL = 1.0  # after which a call returns, so that progress is shown and signals are followed


@dataclass
class Counters:
    """The state of training beside the weights.

    Attributes:
        step: the number of batches read.
        updates: the number of updates made; fewer where float16 overflowed.
        loss_scale: the factor of float16 losses.
        good_steps: the number of steps since the loss scale changed.
    """

    step: int = 0
    updates: int = 0
    loss_scale: float = LOSS_SCALE
    good_steps: int = 0


@dataclass
class StepsTaken:
    """The result of one call of the loop.

    Attributes:
        records: the values that `RECORD` names, of every step, each (steps,).
        losses, weights: the mean and the weight of each term of the loss, of every step, each (steps,).
        counters: after the last step.
        stopped: whether some worker was asked to stop.
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
        """Whether the last step had a number that is not finite, which a smaller loss scale cannot avoid."""
        return bool(self.records["fatal"][-1])


class TrainingLoop:
    """Takes up to `limit` steps on the batches of an iterator; call it outside of any replica.

    Args:
        step: one step.
        runtime: where its task was built.
    """

    def __init__(self, step: TrainingStep, runtime: Runtime):
        self.step = step
        self.runtime = runtime
        self.terms = step.task.loss_names
        self._compiled = compiled(self._steps)

    def __call__(self, iterator: Any, counters: Counters, *, limit: int, stop: bool) -> StepsTaken:
        """Take steps until `limit`, about a second has passed, a number is not finite, or any worker asks to stop."""
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
        begin = tf.timestamp()

        def one(count, state, records, *_):
            with tf.control_dependencies([begin]):  # else this clock may be read before that one
                elapsed = tf.cast(tf.timestamp() - begin, tf.float32)
            batch = self.runtime.next(iterator)
            state, record, signals, norms = self._updates(batch, state, tf.stack([elapsed, stop]))
            fatal, (elapsed, asked) = record[RECORD.index("fatal")] > 0, tf.unstack(signals)
            going = ~fatal & (asked == 0) & (elapsed < SECONDS_PER_CALL * self.runtime.num_replicas)
            return count + 1, state, records.write(count, record), going, asked > 0, norms

        records, norms = self._empty()
        _, state, records, _, stopped, norms = tf.while_loop(
            lambda count, state, records, going, *_: going & (count < limit),
            one,
            (tf.constant(0), state, records, tf.constant(True), tf.constant(False), norms),
            parallel_iterations=1,
        )
        return records.stack(), state, stopped, norms

    def _updates(self, batch, state, signals):
        """Take the step of a batch, or one after the other those of its parts, whose records become one.

        A part whose numbers are not finite is the last.
        """
        if self.step.updates == 1:
            return self.runtime.run(self.step, batch, state, signals)

        def one(number, state, records, *_):
            state, record, counted, norms = self.runtime.run(self.step, batch, state, signals, number)
            fatal = record[RECORD.index("fatal")] > 0
            return number + 1, state, records.write(number, record), fatal, counted, norms

        records, norms = self._empty()
        _, state, records, _, counted, norms = tf.while_loop(
            lambda number, state, records, fatal, *_: ~fatal & (number < self.step.updates),
            one,
            (tf.constant(0), state, records, tf.constant(False), signals, norms),
            parallel_iterations=1,
        )
        return state, self._joined(records.stack()), counted, norms

    def _empty(self):
        """Make what records are written to, and the norms of no step."""
        width = len(RECORD) + 2 * len(self.terms)
        records = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=(width,))
        return records, tf.zeros(len(self.step.optimizer.weights))

    def _joined(self, records):
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
