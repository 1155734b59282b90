"""Averages of weights over steps or epochs, which often generalize better than the weights themselves."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import tensorflow as tf
from pydantic import PositiveInt

from tfattn.config.types import Rate


class Averaging:
    """The base class of averages of weights.

    Call `build` once, `update` after each step, `on_interval_end` before each validation, and use the averages within
    `in_place`.

    Attributes:
        variables: the averages, one per weight.
        kept: other variables of the state by name, each a list with one variable per weight.
        copies: the number of values per weight in `variables` and `kept`.
    """

    variables: list[tf.Variable]
    kept: dict[str, list[tf.Variable]]
    copies: int = 1

    def build(self, weights: Sequence[tf.Variable]) -> None:
        """Create the variables for these weights; call it in the scope of the weights' strategy."""
        self.weights = list(weights)
        self.variables = self._copies()
        self.kept = {}

    def update(self, update: tf.Tensor) -> None:
        """Update the averages after update number `update`, counted from 1; call it inside a replica."""

    def on_interval_end(self, number: int) -> None:
        """Update the averages at the end of interval `number`, counted from 0; call it outside of replicas.

        An interval ends with a validation: it is an epoch, unless `validate_every` is given.
        """

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace the weights by their averages until the block ends."""
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


@dataclass(kw_only=True, eq=False)
class ExponentialMovingAverage(Averaging):
    """An exponential moving average over steps (Polyak & Juditsky 1992; Tarvainen & Valpola 2017).

    Early in a run the decay is lower, (1 + n) / (10 + n) at update n, so that the influence of the initial weights
    vanishes quickly.

    Args:
        decay: the fraction of the average that is kept per step.
    """

    decay: Rate = 0.999

    def update(self, update: tf.Tensor) -> None:
        fraction = 1 - tf.minimum(self.decay, (1 + update) / (10 + update))
        for average, weight in zip(self.variables, self.weights, strict=True):
            tf.raw_ops.ResourceApplyGradientDescent(var=average.handle, alpha=fraction, delta=average - weight)


@dataclass(kw_only=True, eq=False)
class LastEpochs(Averaging):
    """The mean of the weights at the ends of the last epochs: checkpoint averaging (Vaswani et al. 2017, section 6.1).

    It keeps a copy of the weights for each epoch. With `validate_every`, the steps between two validations count as an
    epoch.

    Args:
        epochs: the number of epochs; early in a run, all epochs so far.
    """

    epochs: PositiveInt = 5

    @property
    def copies(self) -> int:
        return 1 + self.epochs

    def build(self, weights: Sequence[tf.Variable]) -> None:
        super().build(weights)
        self.kept = {f"epoch_{index}": self._copies() for index in range(self.epochs)}

    def on_interval_end(self, number: int) -> None:
        for kept, weight in zip(self.kept[f"epoch_{number % self.epochs}"], self.weights, strict=True):
            kept.assign(tf.identity(weight))
        ended = list(self.kept.values())[: number + 1]
        for average, *values in zip(self.variables, *ended, strict=True):
            average.assign(tf.add_n([tf.identity(value) for value in values]) / len(values))
