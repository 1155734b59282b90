"""Scales and piecewise linear encodings of numeric columns.

A scale is a class: `learn` computes the state of a column from training values, for JSON; the constructor takes the
states of all columns; a call scales numbers (B, N), none missing, to (B, N) float32.
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


def quantile_edges(values: np.ndarray, bins: int) -> list[float]:
    """Compute the edges of bins with equally many values.

    Args:
        values: numbers, none missing, not all equal.
        bins: the maximum number of bins; a very frequent value that would fill several bins reduces it.

    Returns:
        the ascending edges, one more than bins, from the smallest to the largest value.

    Source: Gorishniy et al. 2022, "On Embeddings for Numerical Features in Tabular Deep Learning", section 3.2.1.
    """
    edges = np.quantile(values.astype(np.float64), np.linspace(0.0, 1.0, bins + 1))
    return np.unique(edges.astype(np.float32)).tolist()  # float32 as in the graph, where each bin needs a width


class Piecewise:
    """The encoding of a number by bins: 1 for bins below it, 0 for bins above it, and a fraction for its own bin.

    In the bin [b, c] a number x gives (x - b) / (c - b), clipped to 0 and 1. The first bin is not clipped at
    0, the last bin is not clipped at 1. Missing bins of a column are 0.

    Args:
        edges: the ascending edges of each of the N columns, at least two.
        bins: Q, the length of a column's encoding.

    Returns:
        (B, N * Q) float32 for numbers (B, N), column after column.

    Example:
        Piecewise([[0.0, 10.0, 20.0, 40.0]], bins=4)(tf.constant([[25.0]]))  # [[1, 1, 0.25, 0]]

    Source: Gorishniy et al. 2022, "On Embeddings for Numerical Features in Tabular Deep Learning", eq. 1.
    """

    def __init__(self, edges: Sequence[Sequence[float]], *, bins: int):
        self.starts = np.zeros((len(edges), bins), np.float32)
        self.widths = np.full((len(edges), bins), np.inf, np.float32)  # a missing bin: x / inf = 0
        self.min_values = np.zeros((len(edges), bins), np.float32)
        self.max_values = np.ones((len(edges), bins), np.float32)
        for column, steps in enumerate(edges):
            last = len(steps) - 1
            self.starts[column, :last] = steps[:-1]
            self.widths[column, :last] = np.diff(steps)
            self.min_values[column, 0] = -np.inf
            self.max_values[column, last - 1] = np.inf

    def __call__(self, numbers: tf.Tensor) -> tf.Tensor:
        fractions = (numbers[:, :, None] - self.starts) / self.widths  # (B, N) -> (B, N, Q)
        clipped = tf.minimum(tf.maximum(fractions, self.min_values), self.max_values)
        return tf.reshape(clipped, [-1, self.starts.size])
