"""GRU, LSTM and the loop over time: values by hand, and masks."""

import operator

import keras
import numpy as np
import pytest

from tfattn.ops.recurrence import gru, lstm, scan, scan_rows

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
REAL = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def vector(*values):
    return np.array([values], "float32")


def test_gru_by_hand():
    # z = sigmoid(0) = 0.5, r = sigmoid(log 3) = 0.75, n = tanh(1 + 0.75 * 2) = 0.98661430; h' = n / 2 + 0.8 / 2.
    (h,) = gru(vector(0.0, np.log(3.0), 1.0), vector(0.0, 0.0, 2.0), (vector(0.8),))
    np.testing.assert_allclose(array(h), [[0.89330715]], rtol=1e-6)


def test_lstm_by_hand():
    # i = 0.5, f = 0.75, g = tanh 1 = 0.76159416, o = 0.25; c' = 0.75 * 2 + 0.5 g = 1.88079708, h' = o tanh c'.
    inputs, recurrent = vector(0.0, np.log(3.0), 0.5, 0.0), vector(0.0, 0.0, 0.5, -np.log(3.0))
    h, c = lstm(inputs, recurrent, (vector(9.0), vector(2.0)))
    np.testing.assert_allclose(array(c), [[1.88079708]], rtol=1e-6)
    np.testing.assert_allclose(array(h), [[0.25 * np.tanh(1.88079708)]], rtol=1e-6)


@pytest.mark.parametrize(("step", "gates"), [(gru, 3), (lstm, 4)])
def test_states_stay_float32(step, gates):
    halves = (keras.ops.ones((2, gates * 3), "bfloat16") for _ in range(2))
    state = step(*halves, tuple(keras.ops.zeros((2, 3)) for _ in range(gates - 2)))
    assert {keras.backend.standardize_dtype(x.dtype) for x in state} == {"float32"}


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_equals_a_loop(reverse):
    def step(state, x):
        return {"sum": state["sum"] + x, "last": (2.0 * x,)}

    zeros = keras.ops.zeros((2, 3))
    states = scan_rows(step, {"sum": zeros, "last": (zeros,)}, X, REAL, reverse=reverse)
    total, last = np.zeros((2, 3)), np.zeros((2, 3))
    for position in reversed(range(5)) if reverse else range(5):
        seen = REAL[:, position, None]
        total = np.where(seen, total + X[:, position], total)
        last = np.where(seen, 2 * X[:, position], last)
        np.testing.assert_allclose(array(states["sum"])[:, position], total, rtol=1e-5)
        np.testing.assert_allclose(array(states["last"][0])[:, position], last, rtol=1e-5)


def test_without_a_mask_there_is_no_padding():
    sums = scan_rows(operator.add, keras.ops.zeros((2, 3)), X)
    np.testing.assert_allclose(array(sums), X.cumsum(axis=1), rtol=1e-5, atol=1e-6)


def test_a_restart_resets_the_state():
    restarts = np.zeros((5, 2), bool)
    restarts[2, 0] = True
    x = X.swapaxes(0, 1)
    sums = array(scan(operator.add, keras.ops.zeros((2, 3)), x, restarts=restarts))
    np.testing.assert_allclose(sums[:, 1], x[:, 1].cumsum(0), rtol=1e-5)
    np.testing.assert_allclose(sums[2:, 0], x[2:, 0].cumsum(0), rtol=1e-5)


def test_a_projected_lstm_is_an_lstm_whose_output_is_multiplied_and_clipped():
    inputs, recurrent = vector(0.0, np.log(3.0), 0.5, 0.0), vector(0.0, 0.0, 0.5, -np.log(3.0))
    h, c = lstm(inputs, recurrent, (vector(9.0), vector(2.0)))
    projected, same = lstm(inputs, recurrent, (vector(9.0), vector(2.0)), vector(2.0))
    np.testing.assert_allclose(array(projected), 2 * array(h), rtol=1e-6)
    np.testing.assert_allclose(array(same), array(c))
    clips = {"cell_clip": 0.5, "projection_clip": 0.1}
    h, c = lstm(inputs, recurrent, (vector(9.0), vector(2.0)), vector(2.0), **clips)
    assert (array(h), array(c)) == (np.float32(0.1), np.float32(0.5))
