"""Means of weights, which often generalize better than the weights themselves: over the steps, or ends of epochs."""

import contextlib
from collections.abc import Iterator, Sequence

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.types import Rate


class Averaging:
    """The contract: `build` once, `update` after a step, `end_stretch` before a validation, `in_place` to use the mean.

    Attributes:
        variables: the means, one per weight.
        kept: what else is remembered between steps, by name, each a list of one variable per weight.
        copies: how many numbers all of these hold for each weight.
    """

    variables: list[tf.Variable]
    kept: dict[str, list[tf.Variable]]
    copies: int = 1

    def build(self, weights: Sequence[tf.Variable]) -> None:
        """Takes the weights to average; call it in the scope of the strategy that they were made in."""
        self.weights = list(weights)
        self.variables = self._copies()
        self.kept = {}

    def update(self, update: tf.Tensor) -> None:
        """Sees the weights after update number `update`, counted from 1; call it inside a replica."""

    def end_stretch(self, number: int) -> None:
        """Sees the weights at the end of a stretch of steps, counted from 0; call it outside of any replica.

        A stretch ends with a validation: it is an epoch where none comes more often.
        """

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the block the weights are their averages."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    def _copies(self) -> list[tf.Variable]:
        return [tf.Variable(tf.convert_to_tensor(weight), trainable=False) for weight in self.weights]

    def _exchange(self) -> None:
        for average, weight in zip(self.variables, self.weights, strict=True):
            value = tf.identity(weight)
            weight.assign(tf.identity(average))
            average.assign(value)


class ExponentialMovingAverage(Averaging):
    """A mean over the steps, in which later ones count more (Polyak & Juditsky 1992; Tarvainen & Valpola 2017).

    Early in a run less is kept than `decay` says, (1 + n) / (10 + n) at update n, so that the random first weights are
    forgotten soon.

    Args:
        decay: how much of the average is kept per step.
    """

    def __init__(self, *, decay: Rate = 0.999):
        self.decay = decay

    def update(self, update: tf.Tensor) -> None:
        part = 1 - tf.minimum(self.decay, (1 + update) / (10 + update))
        for average, weight in zip(self.variables, self.weights, strict=True):
            tf.raw_ops.ResourceApplyGradientDescent(var=average.handle, alpha=part, delta=average - weight)


class LastEpochs(Averaging):
    """The mean of the weights at the ends of the last epochs: checkpoint averaging (Vaswani et al. 2017, section 6.1).

    It needs memory for as many copies of the weights. Where rows are validated every so many steps, as
    `validate_every` says, such a stretch of steps counts as an epoch.

    Args:
        epochs: how many epochs; in the beginning those that there are.
    """

    def __init__(self, *, epochs: PositiveInt = 5):
        self.epochs = epochs
        self.copies = 1 + epochs

    def build(self, weights: Sequence[tf.Variable]) -> None:
        super().build(weights)
        self.kept = {f"epoch_{index}": self._copies() for index in range(self.epochs)}

    def end_stretch(self, number: int) -> None:
        for kept, weight in zip(self.kept[f"epoch_{number % self.epochs}"], self.weights, strict=True):
            kept.assign(tf.identity(weight))
        ended = list(self.kept.values())[: number + 1]
        for average, *values in zip(self.variables, *ended, strict=True):
            average.assign(tf.add_n([tf.identity(value) for value in values]) / len(values))
