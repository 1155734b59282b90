"""Piecewise linear encoding of numbers."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf


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
