"""Piecewise linear encoding of numbers by the bins of their columns."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf


def quantile_edges(values: np.ndarray, bins: int) -> list[float]:
    """Compute the edges of bins that hold equally many of the values.

    Args:
        values: numbers, none missing, not all equal.
        bins: the most bins; there are fewer where a value is so frequent that it would fill several.

    Returns:
        ascending, one more than there are bins: the smallest value first, the largest last.

    Source: Gorishniy et al. 2022, "On Embeddings for Numerical Features in Tabular Deep Learning", section 3.2.1.
    """
    edges = np.quantile(values.astype(np.float64), np.linspace(0.0, 1.0, bins + 1))
    return np.unique(edges.astype(np.float32)).tolist()  # float32 as in the graph: a bin has a width there


class Piecewise:
    """The encoding of a number by bins: 1 in those below it, 0 in those above, in its own the fraction below it.

    In the bin [b, c] a number x gives (x - b) / (c - b), clipped to 0 and 1, but for x below the first edge, which is
    negative in the first bin, and above the last, which is more than 1 in the last. Bins that a column lacks are 0.

    Args:
        edges: those of each of the N columns, ascending, two at least.
        bins: Q, the length of a column's encoding.

    Returns:
        (B, N * Q) float32 for numbers (B, N), column after column.

    Example:
        Piecewise([[0.0, 10.0, 20.0, 40.0]], bins=4)(tf.constant([[25.0]]))  # [[1, 1, 0.25, 0]]

    Source: Gorishniy et al. 2022, "On Embeddings for Numerical Features in Tabular Deep Learning", eq. 1.
    """

    def __init__(self, edges: Sequence[Sequence[float]], *, bins: int):
        self.starts = np.zeros((len(edges), bins), np.float32)
        self.widths = np.full((len(edges), bins), np.inf, np.float32)  # a bin that is not there: x / inf = 0
        self.least = np.zeros((len(edges), bins), np.float32)
        self.most = np.ones((len(edges), bins), np.float32)
        for column, steps in enumerate(edges):
            last = len(steps) - 1
            self.starts[column, :last] = steps[:-1]
            self.widths[column, :last] = np.diff(steps)
            self.least[column, 0] = -np.inf
            self.most[column, last - 1] = np.inf

    def __call__(self, numbers: tf.Tensor) -> tf.Tensor:
        fractions = (numbers[:, :, None] - self.starts) / self.widths  # (B, N) -> (B, N, Q)
        clipped = tf.minimum(tf.maximum(fractions, self.least), self.most)
        return tf.reshape(clipped, [-1, self.starts.size])
