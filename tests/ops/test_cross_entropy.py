"""Cross-entropy: equal to its definition, with the gradient of the closed form."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.ops.cross_entropy import logistic_loss, smoothed_cross_entropy

pytestmark = pytest.mark.every_backend

LOGITS = np.random.default_rng(0).normal(size=(3, 4, 7)).astype("float32") * 3
TARGETS = np.random.default_rng(1).integers(0, 7, size=(3, 4))
SCORES = np.array([-80.0, -20.0, -1.5, 0.0, 0.3, 4.0, 12.0, 90.0], "float32")


def gradient(function, logits):
    """Of a scalar, on either backend that the tests run on."""
    if keras.backend.backend() == "jax":
        import jax

        return np.asarray(jax.grad(function)(logits))
    logits = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = function(logits)
    return tape.gradient(loss, logits).numpy()


def distribution(smoothing):
    return np.eye(7)[TARGETS] * (1 - smoothing) + smoothing / 7


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_cross_entropy_equals_its_definition(smoothing):
    shifted = LOGITS.astype("float64") - LOGITS.max(axis=-1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    loss = keras.ops.convert_to_numpy(smoothed_cross_entropy(LOGITS, TARGETS, smoothing=smoothing))
    np.testing.assert_allclose(loss, -(distribution(smoothing) * log_softmax).sum(axis=-1), rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_the_prediction_minus_the_target(smoothing):
    found = gradient(lambda x: keras.ops.sum(smoothed_cross_entropy(x, TARGETS, smoothing=smoothing)), LOGITS)
    expected = tf.nn.softmax(LOGITS).numpy() - distribution(smoothing)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_half_precision_is_widened():
    half = keras.ops.cast(LOGITS, "bfloat16")
    assert smoothed_cross_entropy(half, TARGETS, smoothing=0.1).dtype == "float32"


def test_very_unlikely_targets_have_large_finite_loss_and_gradient():
    logits = np.array([[0.0, 500.0]], "float32")

    def surprise(logits):
        return smoothed_cross_entropy(logits, np.array([0]), smoothing=0.0)[0]

    assert 80 < float(surprise(logits)) < np.inf
    np.testing.assert_allclose(gradient(surprise, logits), [[-1, 1]], atol=1e-6)


def test_the_logistic_loss_is_the_negative_logarithm_of_the_sigmoid():
    found = np.array(keras.ops.convert_to_numpy(logistic_loss(keras.ops.convert_to_tensor(SCORES))))
    np.testing.assert_allclose(found, np.log1p(np.exp(-SCORES.astype("float64"))), rtol=1e-6, atol=1e-7)
    assert np.isfinite(keras.ops.convert_to_numpy(logistic_loss(keras.ops.convert_to_tensor([-1e4, 1e4])))).all()


def test_the_gradient_of_the_logistic_loss_is_that_of_the_formula():
    found = gradient(lambda scores: keras.ops.sum(2.0 * logistic_loss(scores)), SCORES)
    np.testing.assert_allclose(found, -2 / (1 + np.exp(SCORES.astype("float64"))), atol=1e-6)
