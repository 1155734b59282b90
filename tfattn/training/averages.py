"""A running mean of the weights, which often generalizes better than the weights themselves."""

import contextlib
from collections.abc import Iterator, Sequence

import tensorflow as tf


class Averages:
    """The exponential moving average of weights (Polyak & Juditsky 1992, in the form of Tarvainen & Valpola 2017).

    Early in a run less is kept than `decay` says, (1 + n) / (10 + n) at update n, so that the random first weights are
    forgotten soon.

    Args:
        decay: how much of the average is kept per update.
        weights: the variables to average; make it in the scope of their strategy.
    """

    def __init__(self, decay: float, weights: Sequence[tf.Variable]):
        self.decay = decay
        self.weights = list(weights)
        self.variables = [tf.Variable(tf.convert_to_tensor(weight), trainable=False) for weight in weights]

    def update(self, update: tf.Tensor) -> None:
        """Moves towards the weights after update number `update`, counted from 1; call it inside a replica."""
        part = 1 - tf.minimum(self.decay, (1 + update) / (10 + update))
        for average, weight in zip(self.variables, self.weights, strict=True):
            tf.raw_ops.ResourceApplyGradientDescent(var=average.handle, alpha=part, delta=average - weight)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the block the weights are their averages."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _exchange(self) -> None:
        for average, weight in zip(self.variables, self.weights, strict=True):
            value = tf.identity(weight)
            weight.assign(tf.identity(average))
            average.assign(value)
