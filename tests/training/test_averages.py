"""Averages of weights, compared with values computed by hand."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.training.averages import ExponentialMovingAverage, LastEpochs

SEEN = (1.0, 4.0, 10.0)


@pytest.fixture
def weight():
    return tf.Variable([0.0, 2.0])


def test_the_moving_average_has_a_lower_decay_at_first(weight):
    averaging = ExponentialMovingAverage(decay=0.2)
    averaging.build([weight])
    expected = np.array([0.0, 2.0])
    for update, value in enumerate(SEEN, start=1):
        weight.assign([value, value])
        averaging.update(tf.constant(float(update)))
        kept = min(0.2, (1 + update) / (10 + update))
        expected = kept * expected + (1 - kept) * value
    np.testing.assert_allclose(averaging.variables[0], expected, rtol=1e-6)


@pytest.mark.parametrize(("epochs", "expected"), [(1, [1, 4, 10]), (2, [1, 2.5, 7]), (5, [1, 2.5, 5])])
def test_the_last_epochs_have_equal_weights(weight, epochs, expected):
    averaging = LastEpochs(epochs=epochs)
    averaging.build([weight])
    for number, value in enumerate(SEEN):
        weight.assign([value, value])
        averaging.update(tf.constant(1.0))
        averaging.on_interval_end(number)
        np.testing.assert_allclose(averaging.variables[0], [expected[number]] * 2)


@pytest.mark.parametrize("averaging", [ExponentialMovingAverage(), LastEpochs()])
def test_averages_replace_weights_within_the_block(weight, averaging):
    averaging.build([weight])
    weight.assign([8.0, 8.0])
    with averaging.in_place():
        np.testing.assert_array_equal(weight, [0, 2])
    np.testing.assert_array_equal(weight, [8, 8])
    np.testing.assert_array_equal(averaging.variables[0], [0, 2])
