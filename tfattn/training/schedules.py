"""Learning rate schedules: pure functions of the step, as fractions of the optimizer's rate.

Steps count from 0. With a warm-up of W steps, step s < W has the fraction (s + 1) / W: the first is above 0, and the
last is the full rate.
"""

import math
from dataclasses import dataclass

import tensorflow as tf
from pydantic import NonNegativeInt, PositiveInt

from tfattn.config.types import Fraction, Rate


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The base class of schedules: a linear warm-up, then `after_warmup`.

    Args:
        warmup: steps over which the rate grows from 0, as a number of steps or as a fraction of all steps.
    """

    warmup: NonNegativeInt | Rate = 0.1

    def warmup_steps(self, total_steps: int) -> int:
        """Return the length of the warm-up in steps."""
        return _steps(self.warmup, total_steps)

    def __call__(self, step: tf.Tensor, total_steps: int) -> tf.Tensor:
        """Compute the fraction of the learning rate at `step`, () float32, in a run of `total_steps`."""
        step = tf.cast(step, tf.float32)
        warmup = self.warmup_steps(total_steps)
        later = self.after_warmup(step, warmup, max(total_steps, warmup + 1))
        return tf.where(step < warmup, (step + 1) / max(warmup, 1), later)

    def after_warmup(self, step: tf.Tensor, warmup: int, total_steps: int) -> tf.Tensor:
        """Compute the fraction at a step after the warm-up; values for earlier steps are ignored."""
        raise NotImplementedError


class Constant(Schedule):
    """The full rate after the warm-up.

    Args:
        warmup: steps over which the rate grows from 0, as a number of steps or as a fraction of all steps.
    """

    def after_warmup(self, step: tf.Tensor, warmup: int, total_steps: int) -> tf.Tensor:
        return tf.ones_like(step)


@dataclass(frozen=True, kw_only=True)
class Linear(Schedule):
    """A linear decay from the full rate down to `final` (Devlin et al. 2019, appendix A.2).

    Args:
        warmup: steps over which the rate grows from 0, as a number of steps or as a fraction of all steps.
        final: the fraction of the rate that would be reached one step after the last.
    """

    final: Fraction = 0.0

    def after_warmup(self, step: tf.Tensor, warmup: int, total_steps: int) -> tf.Tensor:
        return self.final + (1 - self.final) * (1 - _progress(step, warmup, total_steps))


@dataclass(frozen=True, kw_only=True)
class Cosine(Schedule):
    """Half a cosine wave from the full rate down to `final` (Loshchilov & Hutter 2017, eq. 5, without restarts).

    Args:
        warmup: steps over which the rate grows from 0, as a number of steps or as a fraction of all steps.
        final: the fraction of the rate that would be reached one step after the last.
    """

    final: Fraction = 0.0

    def after_warmup(self, step: tf.Tensor, warmup: int, total_steps: int) -> tf.Tensor:
        wave = (1 + tf.cos(math.pi * _progress(step, warmup, total_steps))) / 2
        return self.final + (1 - self.final) * wave


class InverseSqrt(Schedule):
    """A decay with the inverse square root of the step (Vaswani et al. 2017, eq. 3).

    The fraction is min(n / W, sqrt(W / n)) for update n = step + 1. The paper's rate, hidden_dim^-0.5 * min(n^-0.5,
    n * W^-1.5), is this times a learning rate of (hidden_dim * W)^-0.5.

    Args:
        warmup: steps over which the rate grows from 0, as a number of steps or as a fraction of all steps.
    """

    def after_warmup(self, step: tf.Tensor, warmup: int, total_steps: int) -> tf.Tensor:
        return tf.sqrt(max(warmup, 1) / (step + 1))


@dataclass(frozen=True, kw_only=True)
class Step(Schedule):
    """A decay by a factor at equal intervals (step decay; He et al. 2016, section 4.2, at two given steps).

    Args:
        warmup: steps over which the rate grows from 0, as a number of steps or as a fraction of all steps.
        every: the interval between decays after the warm-up, as a number of steps or as a fraction of all steps.
        factor: the factor of each decay, below 1.
    """

    every: PositiveInt | Rate = 0.3
    factor: Rate = 0.1

    def after_warmup(self, step: tf.Tensor, warmup: int, total_steps: int) -> tf.Tensor:
        decays = tf.floor(tf.maximum(step - warmup, 0) / max(1, _steps(self.every, total_steps)))
        return tf.cast(self.factor, tf.float32) ** decays


def _steps(value: int | float, total_steps: int) -> int:
    return value if isinstance(value, int) else round(value * total_steps)


def _progress(step: tf.Tensor, warmup: int, total_steps: int) -> tf.Tensor:
    """Return the progress after the warm-up, from 0 to 1."""
    return tf.clip_by_value((step - warmup) / (total_steps - warmup), 0.0, 1.0)
