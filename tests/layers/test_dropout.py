"""Dropout: what is dropped, what stays, and a state that can be saved."""

import keras
import numpy as np

from tfattn.layers.dropout import Dropout

X = np.ones((200, 50), "float32")


def drop(layer, x=X, training=True):
    return keras.ops.convert_to_numpy(layer(x, training=training))


def test_drops_its_rate_and_keeps_the_mean():
    dropped = drop(Dropout(0.25))
    assert abs((dropped == 0).mean() - 0.25) < 0.02
    np.testing.assert_allclose(dropped[dropped != 0], 1 / 0.75, rtol=1e-2)
    assert abs(dropped.mean() - 1) < 0.02


def test_does_nothing_outside_training_or_with_rate_0():
    assert drop(Dropout(0.25), training=False) is not None
    np.testing.assert_array_equal(drop(Dropout(0.25), training=False), X)
    np.testing.assert_array_equal(drop(Dropout(0.0)), X)
    empty = Dropout(0.0)
    drop(empty)
    assert not empty.variables


def test_its_state_has_the_same_name_each_time_and_decides_what_is_dropped():
    first, second = Dropout(0.5, name="dropout"), Dropout(0.5, name="dropout")
    for layer in (first, second):
        layer.build(X.shape)
    assert [v.path for v in first.variables] == [v.path for v in second.variables]
    second.variables[0].assign(first.variables[0])
    one, two = drop(first), drop(first)
    assert (one != two).any()
    np.testing.assert_array_equal(drop(second), one)
    np.testing.assert_array_equal(drop(second), two)
