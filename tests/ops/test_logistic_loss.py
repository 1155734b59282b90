"""The loss of scores: that of the formula, with its gradient, and finite wherever scores go."""

import numpy as np
import pytest
from keras import ops

from tfattn.ops.logistic_loss import logistic_loss

SCORES = np.array([-80.0, -20.0, -1.5, 0.0, 0.3, 4.0, 12.0, 90.0], "float32")


@pytest.mark.every_backend
def test_it_is_the_negative_logarithm_of_the_sigmoid():
    found = np.array(ops.convert_to_numpy(logistic_loss(ops.convert_to_tensor(SCORES))))
    np.testing.assert_allclose(found, np.log1p(np.exp(-SCORES.astype("float64"))), rtol=1e-6, atol=1e-7)
    assert np.isfinite(ops.convert_to_numpy(logistic_loss(ops.convert_to_tensor([-1e4, 1e4])))).all()


def test_its_gradient_is_that_of_the_formula():
    tf = pytest.importorskip("tensorflow")
    scores = tf.constant(SCORES)
    with tf.GradientTape() as tape:
        tape.watch(scores)
        total = tf.reduce_sum(2.0 * logistic_loss(scores))
    np.testing.assert_allclose(tape.gradient(total, scores), -2 / (1 + np.exp(SCORES.astype("float64"))), atol=1e-6)
