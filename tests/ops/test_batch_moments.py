"""Moments over a batch: the formulas, without padding and without rows that only fill the batch."""

import keras
import numpy as np
import pytest

from tfattn.ops.batch_moments import BatchScope, batch_moments

pytestmark = pytest.mark.every_backend

DRAW = np.random.default_rng(0)
X = DRAW.normal(3.0, 2.0, size=(4, 5, 8)).astype("float32")
MASK = np.arange(5) < np.array([5, 2, 0, 3])[:, None]


def moments(*arguments):
    return [keras.ops.convert_to_numpy(value) for value in batch_moments(*map(keras.ops.convert_to_tensor, arguments))]


def test_padding_does_not_count():
    count, mean, variance = moments(X, MASK)
    real = X[MASK].astype("float64")
    assert count == 10
    np.testing.assert_allclose(mean, real.mean(0), rtol=1e-6)
    np.testing.assert_allclose(variance, real.var(0), rtol=1e-6)
    changed = np.where(MASK[..., None], X, 1e6).astype("float32")
    for value, expected in zip(moments(changed, MASK), (count, mean, variance), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_rows_that_fill_the_batch_do_not_count():
    with BatchScope(real_rows=keras.ops.convert_to_tensor([True, False, True, True])):
        filled = moments(X, MASK)
        # The texts of a row are next to each other.
        of_texts = moments(X.reshape(20, 1, 8))
        of_vectors = moments(X[:, 0])
    rows = [0, 2, 3]
    for value, expected in zip(filled, moments(X[rows], MASK[rows]), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(of_texts[1], X[rows].reshape(-1, 8).mean(0), rtol=1e-6)
    np.testing.assert_allclose(of_vectors[2], X[rows, 0].var(0), rtol=1e-5)
    assert moments(X)[0] == 20  # after the scope


def test_a_large_mean_loses_no_digits():
    _, mean, variance = moments(X + 1000)
    np.testing.assert_allclose(variance, (X + 1000).astype("float64").reshape(-1, 8).var(0), rtol=1e-4)


def test_without_positions_the_moments_are_zero():
    assert not any(value.any() for value in moments(X, np.zeros((4, 5), bool)))
