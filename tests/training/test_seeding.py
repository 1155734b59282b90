"""Seeding: equal seeds give equal weights, and other random numbers are not affected."""

import random

import keras
import numpy as np

from tfattn.training.seeding import seeded


def weights(seed):
    with seeded(seed):
        layer = keras.layers.Dense(3)
        layer.build((None, 4))
    return layer.kernel.numpy()


def test_equal_seeds_give_equal_weights():
    np.testing.assert_array_equal(weights(7), weights(7))
    assert np.any(weights(7) != weights(8))


def test_random_states_are_restored():
    def drawn(between):
        random.seed(1)
        np.random.seed(1)
        between()
        return random.random(), np.random.random()

    assert drawn(lambda: weights(7)) == drawn(lambda: None)
