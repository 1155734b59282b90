"""Pooling of a sequence to one vector."""

import keras
import numpy as np
import pytest

from tfattn.ops import pooling

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
REAL = np.array([[1, 1, 0, 0], [1, 1, 1, 1]])


def test_first():
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(pooling.first(X)), X[:, 0])


def test_leading():
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(pooling.leading(X, 3)), X[:, :3])


def test_a_vector_by_name_is_float32():
    half = X.astype("float16")
    mean = keras.ops.convert_to_numpy(pooling.mean(half, REAL))
    largest = np.stack([half[0, :2].max(0), half[1].max(0)])
    for by, expected in (("cls", half[:, 0]), ("mean", mean), ("max", largest)):
        found = keras.ops.convert_to_numpy(pooling.pooled(half, REAL, by=by))
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)


def test_the_maximum_without_a_mask():
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(pooling.pooled(X, by="max")), X.max(1))


def test_the_mean_excludes_padding():
    mean = keras.ops.convert_to_numpy(pooling.mean(X, REAL))
    np.testing.assert_allclose(mean[0], X[0, :2].mean(0), rtol=1e-5)
    np.testing.assert_allclose(mean[1], X[1].mean(0), rtol=1e-5)
    padded = X.copy()
    padded[0, 2:] = 1e6
    np.testing.assert_allclose(keras.ops.convert_to_numpy(pooling.mean(padded, REAL)), mean, rtol=1e-5)


def test_mean_without_a_mask():
    np.testing.assert_allclose(keras.ops.convert_to_numpy(pooling.mean(X)), X.mean(1), rtol=1e-5)


def test_a_row_of_padding_gives_zeros():
    assert not keras.ops.convert_to_numpy(pooling.mean(X, np.zeros((2, 4)))).any()


def test_segment_means_are_0_for_empty_segments():
    x = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 5.0]])
    found = keras.ops.convert_to_numpy(pooling.mean_by_row(x, np.array([0, 0, 2]), 4))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [[2, 4], [0, 0], [5, 5], [0, 0]])


def test_the_first_tokens_of_a_graph_with_any_length():
    tf = pytest.importorskip("tensorflow")
    if keras.backend.backend() != "tensorflow":
        pytest.skip("graphs of any length are TensorFlow's")
    first = tf.function(lambda x: pooling.leading(x, 2), input_signature=[tf.TensorSpec([None, None, 4], tf.float32)])
    x = np.random.default_rng(0).normal(size=(3, 5, 4)).astype("float32")
    np.testing.assert_array_equal(first(x), x[:, :2])
