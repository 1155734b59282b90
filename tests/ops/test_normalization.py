"""Normalization: the formulas, and their gradients in closed form."""

import keras
import numpy as np
import pytest

from tfattn.ops.normalization import layer_normalization, rms_normalization

pytestmark = pytest.mark.every_backend

DRAW = np.random.default_rng(0)
X = DRAW.normal(3.0, 2.0, size=(2, 3, 8)).astype("float32")
GAMMA, BETA = DRAW.normal(size=(2, 8)).astype("float32")
UPSTREAM = DRAW.normal(size=X.shape).astype("float32")


def normalize(x, gamma=GAMMA, beta=BETA, epsilon=1e-3):
    tensors = map(keras.ops.convert_to_tensor, (x, gamma, beta))
    return keras.ops.convert_to_numpy(layer_normalization(*tensors, epsilon=epsilon))


def formula(x, gamma, beta, epsilon=1e-3):
    x = x.astype("float64")
    deviation = np.sqrt(x.var(-1, keepdims=True) + epsilon)
    return (x - x.mean(-1, keepdims=True)) / deviation * gamma + beta


def test_by_hand():
    # Mean 3, variance 1: 2 and 4 become -1 and 1.
    np.testing.assert_allclose(normalize([[2.0, 4.0]], [2.0, 1.0], [0.5, 0.0], epsilon=0.0), [[-1.5, 1.0]], rtol=1e-6)


def test_equals_the_formula_in_float64():
    np.testing.assert_allclose(normalize(X), formula(X, GAMMA, BETA), atol=1e-5)
    np.testing.assert_allclose(normalize(X + 1000.0), formula(X, GAMMA, BETA), atol=1e-2)


def rms_formula(x, gamma, epsilon=1e-3):
    x = x.astype("float64")
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gamma


def test_root_mean_square_by_hand():
    # The mean of 1 and 49 is 25, its root 5.
    tensors = map(keras.ops.convert_to_tensor, ([[1.0, -7.0]], [2.0, 1.0]))
    answer = keras.ops.convert_to_numpy(rms_normalization(*tensors, epsilon=0.0))
    np.testing.assert_allclose(answer, [[0.4, -1.4]], rtol=1e-6)


def gradients_of(function, *arguments):
    if keras.backend.backend() == "jax":
        import jax

        def total(*arguments):
            return (function(*arguments, epsilon=1e-3) * UPSTREAM).sum()

        gradients = jax.grad(total, argnums=tuple(range(len(arguments))))(*arguments)
        return [np.asarray(part) for part in gradients]
    tf = pytest.importorskip("tensorflow")
    tensors = [tf.constant(part) for part in arguments]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        total = tf.reduce_sum(function(*tensors, epsilon=1e-3) * UPSTREAM)
    return [part.numpy() for part in tape.gradient(total, tensors)]


@pytest.mark.parametrize(
    ("function", "formula", "arguments"),
    [(layer_normalization, formula, [X, GAMMA, BETA]), (rms_normalization, rms_formula, [X, GAMMA])],
    ids=["layer", "root mean square"],
)
def test_the_gradient_is_that_of_the_formula(function, formula, arguments):
    for place, answer in enumerate(gradients_of(function, *arguments)):
        expected = np.zeros(answer.shape)
        for index in np.ndindex(answer.shape):
            sides = []
            for change in (1e-4, -1e-4):
                moved = [part.astype("float64") for part in arguments]
                moved[place][index] += change
                sides.append((formula(*moved) * UPSTREAM).sum())
            expected[index] = (sides[0] - sides[1]) / 2e-4
        np.testing.assert_allclose(answer, expected, atol=1e-4)
