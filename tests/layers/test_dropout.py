"""Dropout of components and of whole rows: the rate, the mean, and a state that can be saved."""

import keras
import numpy as np
import pytest

from tfattn.layers.dropout import Dropout, StochasticDepth, dropout

pytestmark = pytest.mark.every_backend

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


def test_the_random_state_has_a_stable_name_and_determines_dropout():
    first, second = Dropout(0.5, name="dropout"), Dropout(0.5, name="dropout")
    for layer in (first, second):
        layer.build(X.shape)
    assert [v.path for v in first.variables] == [v.path for v in second.variables]
    second.variables[0].assign(first.variables[0])
    one, two = drop(first), drop(first)
    assert (one != two).any()
    np.testing.assert_array_equal(drop(second), one)
    np.testing.assert_array_equal(drop(second), two)


def drop_values(x, rate, seed=1):
    return keras.ops.convert_to_numpy(
        keras.ops.cast(
            dropout(keras.ops.convert_to_tensor(x), rate=rate, seed=keras.random.SeedGenerator(seed)), "float32"
        )
    )


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_drops_the_rate_to_a_256th_and_keeps_the_mean_exactly(rate):
    dropped = drop_values(np.ones((500, 400), "float32"), rate)
    nearest = round(rate * 256) / 256
    # Four standard deviations of a mean over 200,000 draws.
    assert abs((dropped == 0).mean() - nearest) < 4 * np.sqrt(nearest * (1 - nearest) / 200_000)
    np.testing.assert_allclose(dropped[dropped != 0], 1 / (1 - nearest), rtol=1e-6)


def test_all_positions_are_equally_likely():
    kept = np.mean([drop_values(np.ones(37, "float32"), 0.5, seed) != 0 for seed in range(300)], axis=0)
    assert kept.min() > 0.35 and kept.max() < 0.65


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 5, 7)])
def test_any_shape_and_type(shape):
    for dtype in ("float32", "bfloat16"):
        x = keras.ops.ones(shape, dtype)
        y = dropout(x, rate=0.5, seed=keras.random.SeedGenerator(0))
        assert tuple(y.shape) == shape
        assert keras.backend.standardize_dtype(y.dtype) == dtype


def test_a_rate_below_one_never_divides_by_zero():
    assert np.isfinite(drop_values(np.ones(100, "float32"), 0.999)).all()


def test_a_seed_decides_what_is_dropped():
    x = np.ones((20, 20), "float32")
    np.testing.assert_array_equal(drop_values(x, 0.5, seed=3), drop_values(x, 0.5, seed=3))
    assert (drop_values(x, 0.5, seed=3) != drop_values(x, 0.5, seed=4)).any()


def test_whole_rows_are_dropped_and_the_mean_is_kept():
    keras.utils.set_random_seed(0)
    layer = StochasticDepth(0.25)
    answer = keras.ops.convert_to_numpy(layer(np.ones((2000, 3, 4), "float32"), training=True))
    rows = answer.reshape(2000, -1)
    assert (rows == rows[:, :1]).all()
    np.testing.assert_allclose(np.unique(rows), [0, 4 / 3], rtol=1e-6)
    assert abs(rows.mean() - 1) < 0.05


def test_the_random_state_has_a_stable_name():
    layer = StochasticDepth(0.25, name="layer")
    layer.build((None, 3, 4))
    assert [variable.path for variable in layer.variables] == ["layer/seed/seed_generator_state"]
