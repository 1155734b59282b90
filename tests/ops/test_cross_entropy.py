"""Cross-entropy: equal to the sum that defines it, and its gradient to the difference of distributions."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.ops.cross_entropy import smoothed_cross_entropy

LOGITS = np.random.default_rng(0).normal(size=(3, 4, 7)).astype("float32") * 3
TARGETS = np.random.default_rng(1).integers(0, 7, size=(3, 4))


def distribution(smoothing):
    return np.eye(7)[TARGETS] * (1 - smoothing) + smoothing / 7


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_it_is_the_sum_that_defines_it(smoothing):
    shifted = LOGITS.astype("float64") - LOGITS.max(axis=-1, keepdims=True)
    log_softmax = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    loss = keras.ops.convert_to_numpy(smoothed_cross_entropy(LOGITS, TARGETS, smoothing=smoothing))
    np.testing.assert_allclose(loss, -(distribution(smoothing) * log_softmax).sum(axis=-1), rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_its_gradient_is_what_the_model_says_less_what_is_right(smoothing):
    logits = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.reduce_sum(smoothed_cross_entropy(logits, TARGETS, smoothing=smoothing))
    expected = tf.nn.softmax(logits).numpy() - distribution(smoothing)
    np.testing.assert_allclose(tape.gradient(loss, logits), expected, atol=1e-5)


def test_half_precision_is_widened():
    half = keras.ops.cast(LOGITS, "bfloat16")
    assert smoothed_cross_entropy(half, TARGETS, smoothing=0.1).dtype == "float32"


def test_what_is_next_to_impossible_is_a_large_number_and_still_teaches():
    logits = tf.constant([[0.0, 500.0]])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = smoothed_cross_entropy(logits, np.array([0]), smoothing=0.0)
    assert 80 < float(loss[0]) < np.inf
    np.testing.assert_allclose(tape.gradient(loss, logits), [[-1, 1]], atol=1e-6)
