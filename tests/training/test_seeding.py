"""Weights begin where a seed says, and what is drawn elsewhere does not notice."""

import random

import keras
import numpy as np

from tfattn.training.seeding import seeded


def weights(seed):
    with seeded(seed):
        layer = keras.layers.Dense(3)
        layer.build((None, 4))
    return layer.kernel.numpy()


def test_equal_seeds_begin_with_equal_weights():
    np.testing.assert_array_equal(weights(7), weights(7))
    assert np.any(weights(7) != weights(8))


def test_what_is_drawn_afterwards_is_what_would_have_been():
    def drawn(between):
        random.seed(1)
        np.random.seed(1)
        between()
        return random.random(), np.random.random()

    assert drawn(lambda: weights(7)) == drawn(lambda: None)
