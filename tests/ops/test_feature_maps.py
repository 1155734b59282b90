"""Feature maps: one sample by hand, and independent rows."""

import keras
import numpy as np
import pytest

from tfattn.ops.feature_maps import feature_map, side

pytestmark = pytest.mark.every_backend


def run(x):
    return keras.ops.convert_to_numpy(feature_map(keras.ops.convert_to_tensor(np.asarray(x, "float32"))))


def test_one_sample_by_hand():
    # From 1 to 5: a number x becomes (x - 1) / 4 + 0.0001.
    x = [2, 4, 1, 1, 3, 5, 1, 1, 1, 1, 2, 3, 4, 5]
    expected = [
        [0.0, 0.2501, 0.7501, 0.0001],
        [0.0001, 0.5001, 1.0001, 0.0001],
        [0.0001, 0.0001, 0.0001, 0.2501],
        [0.5001, 0.7501, 1.0001, 0.0],
    ]
    np.testing.assert_allclose(run([x])[0, :, :, 0], expected, atol=1e-7)


def test_rows_are_scaled_separately():
    rows = np.random.default_rng(0).normal(size=(5, 14))
    factors = np.array([[1.0], [10.0], [0.001], [7.0], [500.0]])
    np.testing.assert_allclose(run(rows * factors + factors), run(rows), atol=1e-4)
    for row in range(5):
        np.testing.assert_array_equal(run(rows[row : row + 1])[0], run(rows)[row])


def test_equal_numbers_are_finite():
    np.testing.assert_allclose(run(np.full((1, 14), 3.0))[0].ravel(), [0.0, *[0.0001] * 14, 0.0], atol=1e-9)


@pytest.mark.parametrize(("numbers", "edge"), [(14, 4), (34, 6), (62, 8), (2, 2), (7, None), (13, None), (15, None)])
def test_column_counts_that_fill_a_map(numbers, edge):
    assert side(numbers) == edge
    if edge:
        assert run(np.zeros((1, numbers))).shape == (1, edge, edge, 1)
