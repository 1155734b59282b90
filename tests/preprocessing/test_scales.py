"""Piecewise linear encodings: the formula of the paper."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.preprocessing.scales import Piecewise, quantile_edges


def formula(x: float, edges: list[float], bins: int) -> list[float]:
    """Gorishniy et al. 2022, eq. 1, as it is written there; bins count from 1 to T."""
    last = len(edges) - 1
    encoded = []
    for t in range(1, last + 1):
        if x < edges[t - 1] and t > 1:
            encoded.append(0.0)
        elif x >= edges[t] and t < last:
            encoded.append(1.0)
        else:
            encoded.append((x - edges[t - 1]) / (edges[t] - edges[t - 1]))
    return encoded + [0.0] * (bins - last)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, [0, 0, 0]),
        (5, [0.5, 0, 0]),
        (10, [1, 0, 0]),
        (25, [1, 1, 0.25]),
        (40, [1, 1, 1]),
        (-10, [-1, 0, 0]),
        (60, [1, 1, 2]),
    ],
)
def test_by_hand(number, expected):
    encoded = Piecewise([[0.0, 10.0, 20.0, 40.0]], bins=3)(tf.constant([[number]], tf.float32))
    np.testing.assert_array_equal(encoded, [expected])


def test_it_equals_the_formula_for_columns_of_unequal_bins():
    edges = [[0.0, 1.0], [-3.0, -1.0, 0.5, 9.0], [2.0, 2.5, 7.0]]
    numbers = np.random.default_rng(0).normal(0, 5, (200, 3)).astype(np.float32)
    numbers[:6] = [[0, -3, 2], [1, -1, 2.5], [0.5, 0.5, 7], [1, 9, 2], [0, -1, 2], [1, 0.5, 2.5]]
    expected = [[formula(x, steps, 4) for x, steps in zip(row, edges, strict=True)] for row in numbers.tolist()]
    encoded = Piecewise(edges, bins=4)(tf.constant(numbers))
    assert encoded.shape == (200, 12)
    np.testing.assert_allclose(encoded, np.reshape(expected, (200, 12)), rtol=1e-5, atol=1e-6)


def test_encodings_are_monotone():
    values = np.random.default_rng(1).lognormal(0, 2, 500)
    encoded = Piecewise([quantile_edges(values, 16)], bins=16)(np.linspace(-5, 60, 400, dtype=np.float32)[:, None])
    assert (np.diff(encoded, axis=0) >= 0).all()


def test_bins_have_equally_many_values():
    values = np.random.default_rng(2).permutation(1000).astype(float)
    assert quantile_edges(values, 4) == [0, 249.75, 499.5, 749.25, 999]


def test_frequent_values_reduce_the_number_of_bins():
    assert quantile_edges(np.array([0.0] * 90 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), 10) == pytest.approx([0, 0.1, 10])
    assert quantile_edges(np.array([0.0, 1.0]), 1) == [0, 1]
