"""Position embeddings: scaling and addition."""

import keras
import numpy as np

from tfattn.layers.positions import Positions
from tfattn.ops.positions import sinusoidal

X = np.random.default_rng(0).normal(size=(2, 5, 16)).astype("float32")
INDICES = np.array([3, 4, 5, 6, 7])


def run(layer, **options):
    return keras.ops.convert_to_numpy(layer(X, INDICES, **options))


def test_tokens_are_scaled_by_the_root_of_the_width():
    np.testing.assert_allclose(run(Positions(positions="rotary")), 4 * X, rtol=1e-6)


def test_each_position_adds_its_own_vector():
    added = run(Positions(positions="sinusoidal")) - 4 * X
    expected = np.broadcast_to(keras.ops.convert_to_numpy(sinusoidal(INDICES, 16)), X.shape)
    np.testing.assert_allclose(added, expected, atol=1e-5)
    learned = Positions(positions="learned", max_sequence_length=8)
    added = run(learned) - 4 * X
    table = keras.ops.convert_to_numpy(learned.position.embeddings)
    np.testing.assert_allclose(added, np.broadcast_to(table[3:], X.shape), atol=1e-5)


def test_dropout_acts_only_in_training():
    layer = Positions(dropout=0.5)
    np.testing.assert_array_equal(run(layer), run(layer))
    assert (run(layer, training=True) == 0).mean() > 0.3
