"""Batch normalization over all replicas and micro-batches of a batch, with exact gradients.

On replicas the sums of each normalization are added by an all-reduce. Micro-batches are computed one after another, but
the moments of a normalization depend on those of the normalizations before it in all micro-batches. With L
normalizations, L sweeps over the micro-batches compute the moments: each sweep makes those of one more normalization
exact. Then L sweeps compute the gradients of the loss by the moments, from the last normalization to the first. A last
sweep computes the gradients of the weights, with the moments as inputs.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfattn.ops.batch_moments import BatchScope, Moments
from tfattn.training import gradients as sums
from tfattn.training.compiled import compiled

# Computes the objective of a micro-batch within the scope: the scalar to differentiate, and the losses (terms,).
Objective = Callable[[tf.Tensor | int, BatchScope], tuple[tf.Tensor, tf.Tensor]]


class ReplicaScope(BatchScope):
    """A batch that is divided among replicas, each with a single part."""

    def total(self, values: tf.Tensor) -> tf.Tensor:
        replica = tf.distribute.get_replica_context()
        # The gradient of a sum over replicas is the sum of their gradients.
        return values if replica.num_replicas_in_sync == 1 else replica.all_reduce("SUM", values)


class MicroBatchScope(BatchScope):
    """A micro-batch of a batch whose moments are given.

    Args:
        real_rows: as BatchScope.
        given: the moments of all normalizations in the order of their calls; None for means of 0 and variances of 1.

    Attributes:
        sums: for each normalization the sums of this micro-batch, (2 D + 1,): distances from the given means, their
            squares, and the number of positions.
    """

    def __init__(self, real_rows: tf.Tensor, given: list[Moments] | None):
        super().__init__(real_rows)
        self.given = given
        self.sums: list[tf.Tensor] = []

    def moments(self, x: tf.Tensor, is_real: tf.Tensor) -> Moments:
        width = x.shape[-1]
        given = self.given[len(self.sums)] if self.given else Moments(tf.zeros(()), tf.zeros(width), tf.ones(width))
        distances = tf.where(is_real, x - tf.stop_gradient(given.mean), 0.0)
        count = tf.reduce_sum(tf.cast(is_real, tf.float32), axis=0)
        self.sums.append(tf.concat([tf.reduce_sum(distances, 0), tf.reduce_sum(distances**2, 0), count], axis=0))
        return given


class MicroBatchMoments:
    """The moments of all normalizations of a batch in micro-batches. Create it inside each replica.

    Args:
        forward: computes a micro-batch within a scope.
        real_rows: (count, n), whether the rows of each micro-batch are real.

    Attributes:
        given: the moments of all normalizations, in the order of their calls.
    """

    def __init__(self, forward: Callable[[tf.Tensor | int, BatchScope], Any], real_rows: tf.Tensor):
        self._real_rows = real_rows
        self._count = real_rows.shape[0]
        first = MicroBatchScope(real_rows[0], None)
        forward(0, first)
        self._sizes = [value.shape[0] for value in first.sums]

        def sums_of(index, given):
            scope = self._scope(index, given)
            forward(index, scope)
            return tf.concat(scope.sums, axis=0)

        sweep = compiled(lambda given: self._sum(lambda index: sums_of(index, given)))
        moments = tf.concat([tf.repeat([0.0, 1.0, 0.0], [size // 2, size // 2, 1]) for size in self._sizes], axis=0)
        # One more sweep than normalizations: distances from the exact means lose no digits.
        for _ in range(len(self._sizes) + 1):
            self._means, self._totals = moments, _all_reduce(sweep(moments))
            moments = self._merge(self._totals)
        self._moments = moments

    @property
    def given(self) -> list[Moments]:
        return self._split(self._moments)

    def scope(self, index: tf.Tensor | int) -> MicroBatchScope:
        """Return the scope of a micro-batch."""
        return self._scope(index, self._moments)

    def gradients(self, objective: Objective, differentiate: Callable) -> tuple[list[sums.Gradient], tf.Tensor]:
        """Compute the gradients of the weights, and the losses, summed over this replica's micro-batches.

        Args:
            objective: the objective of a micro-batch.
            differentiate: returns the gradients of the weights and the losses, of a function that returns an objective.
        """

        def with_moments(index, moments, factors):
            """Add the influence of this micro-batch on the objective by the moments."""
            scope = self._scope(index, moments)
            scaled, losses = objective(index, scope)
            return scaled + tf.reduce_sum(factors * tf.concat(scope.sums, axis=0)), losses

        def by_moments(index, moments, factors):
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(moments)
                scaled, _ = with_moments(index, moments, factors)
            return tape.gradient(scaled, moments)

        sweep = compiled(lambda moments, factors: self._sum(lambda index: by_moments(index, moments, factors)))
        factors = tf.zeros_like(self._totals)
        for _ in self._sizes:
            factors = self._by_totals(_all_reduce(sweep(self._moments, factors)))
        return sums.accumulate(
            lambda index: differentiate(lambda: with_moments(index, self._moments, factors)), self._count
        )

    def _scope(self, index, moments):
        return MicroBatchScope(self._real_rows[index], self._split(moments))

    def _sum(self, compute):
        (total,), _ = sums.accumulate(lambda index: ([compute(index)], tf.zeros(())), self._count)
        return total

    def _split(self, moments):
        """Divide the values of all normalizations, (sum of 2 D + 1,)."""
        parts = [tf.split(values, [size // 2, size // 2, 1]) for size, values in self._pairs(moments)]
        return [Moments(count[0], mean, variance) for mean, variance, count in parts]

    def _pairs(self, values):
        return zip(self._sizes, tf.split(values, self._sizes), strict=True)

    def _merge(self, totals):
        """Compute moments from sums of distances from the means of the sweep before."""
        merged = []
        for known, found in zip(self._split(self._means), self._split(totals), strict=True):
            count = tf.maximum(found.count, 1.0)
            shift = found.mean / count
            variance = found.variance / count - shift**2
            merged += [tf.stop_gradient(known.mean) + shift, tf.maximum(variance, 0.0), found.count[None]]
        return tf.concat(merged, axis=0)

    def _by_totals(self, gradient):
        """Convert gradients by moments to gradients by sums."""
        with tf.GradientTape() as tape:
            tape.watch(self._totals)
            moments = self._merge(self._totals)
        return tape.gradient(moments, self._totals, output_gradients=gradient)


def _all_reduce(values: tf.Tensor) -> tf.Tensor:
    return tf.distribute.get_replica_context().all_reduce("SUM", values)
