"""Scales of numeric columns: learned per column from training values, applied to all columns in the graph.

Each scale is a class: `learn` returns the state of a column for JSON; the constructor takes the states of all columns;
a call scales numbers (B, N), none missing, to (B, N) float32.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import tensorflow as tf

MAX_VALUES = 1000  # of a column, in a quantile scale


class NoScale:
    """The identity scale."""

    def __init__(self, learned: Sequence[dict[str, Any]]):
        pass

    @staticmethod
    def learn(values: np.ndarray) -> dict[str, Any]:
        return {}

    def __call__(self, numbers: tf.Tensor) -> tf.Tensor:
        return numbers


class StandardScale:
    """The scale with mean 0 and standard deviation 1 of the training values."""

    def __init__(self, learned: Sequence[dict[str, Any]]):
        self.means = np.array([column["mean"] for column in learned], np.float32)
        self.deviations = np.array([column["deviation"] for column in learned], np.float32)

    @staticmethod
    def learn(values: np.ndarray) -> dict[str, Any]:
        return {"mean": float(values.mean()), "deviation": float(values.std())}

    def __call__(self, numbers: tf.Tensor) -> tf.Tensor:
        return (numbers - self.means) / self.deviations


class QuantileScale:
    """The scale that gives the training values a standard normal distribution, for skewed columns.

    The rank of a value is the fraction of training values below it, plus half of the fraction equal to it. Numbers
    between training values are interpolated; numbers outside their range are clipped.
    """

    def __init__(self, learned: Sequence[dict[str, Any]]):
        width = max(len(column["values"]) for column in learned)
        self.values = np.full((len(learned), width), np.inf, np.float32)
        self.scores = np.zeros((len(learned), width), np.float32)
        self.last_steps = np.array([[len(column["values"]) - 2] for column in learned], np.int32)
        for index, column in enumerate(learned):
            self.values[index, : len(column["values"])] = column["values"]
            self.scores[index, : len(column["scores"])] = column["scores"]

    @staticmethod
    def learn(values: np.ndarray) -> dict[str, Any]:
        distinct, counts = np.unique(values, return_counts=True)
        ranks = (np.cumsum(counts) - counts / 2) / len(values)
        kept = np.unique(np.linspace(0, len(distinct) - 1, min(len(distinct), MAX_VALUES)).round().astype(int))
        normal = NormalDist()
        return {"values": distinct[kept].tolist(), "scores": [normal.inv_cdf(rank) for rank in ranks[kept].tolist()]}

    def __call__(self, numbers: tf.Tensor) -> tf.Tensor:
        columns = tf.transpose(numbers)  # (B, N) -> (N, B)
        steps = tf.searchsorted(self.values, columns, side="right") - 1
        steps = tf.minimum(tf.maximum(steps, 0), self.last_steps)
        (start, end), (low, high) = (
            (tf.gather(table, steps, batch_dims=1), tf.gather(table, steps + 1, batch_dims=1))
            for table in (self.values, self.scores)
        )
        fraction = tf.clip_by_value((columns - start) / (end - start), 0.0, 1.0)
        return tf.transpose(low + fraction * (high - low))


SCALES = {"standard": StandardScale, "quantile": QuantileScale, "none": NoScale}
