"""The linear projection: equal to the layer of Keras, and its initialization."""

import keras
import numpy as np

from tfattn.layers.projection import Projection

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")


def test_equals_keras():
    ours, theirs = Projection(units=6), keras.layers.Dense(6)
    for layer in (ours, theirs):
        layer.build(X.shape)
    theirs.set_weights([keras.ops.convert_to_numpy(ours.kernel), np.arange(6.0)])
    ours.bias.assign(np.arange(6.0))
    answer, expected = (keras.ops.convert_to_numpy(layer(X)) for layer in (ours, theirs))
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-5)


def test_kernels_are_initialized_by_deviation_or_width():
    normal, uniform = Projection(units=300, initializer_range=0.3), Projection(units=300, initializer_range=None)
    for layer in (normal, uniform):
        layer.build((None, 100))
    # A normal distribution that is cut at two deviations keeps 0.88 of its own.
    assert abs(keras.ops.convert_to_numpy(normal.kernel).std() - 0.3 * 0.88) < 0.01
    kernel, bound = keras.ops.convert_to_numpy(uniform.kernel), np.sqrt(6 / (100 + 300))
    assert 0.99 * bound < np.abs(kernel).max() <= bound
    assert abs(kernel.std() - bound / np.sqrt(3)) < 0.01
