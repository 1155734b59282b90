"""Bidirectional LSTMs in one loop: equal to the formulas and to Keras, independent of padding."""

import keras
import numpy as np
import pytest

from tests.contracts.layer import check_layer
from tfattn.layers.bidirectional import BidirectionalLstm

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(3, 5, 4)).astype("float32")
REAL = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]], bool)
CLIPS = {"cell_clip": 0.5, "projection_clip": 0.4}


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def build(width=4, **arguments):
    """Make a layer with random weights and biases, so large that clipping matters."""
    layer = BidirectionalLstm(units=6, **arguments)
    layer.build((None, None, width))
    draw = np.random.default_rng(1)
    layer.set_weights([draw.normal(0, 0.8, size=weight.shape) for weight in layer.get_weights()])
    return layer


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def plain(layer, x, direction):
    """Compute one direction over a row (T, F), step by step, in float64: (T, P)."""
    names = ("kernel", "recurrent_kernel", "bias", *(["projection"] if layer.projection_dim else []))
    weights = {name: array(layer.both(name))[direction].astype("float64") for name in names}
    h, c, outputs = np.zeros(weights["recurrent_kernel"].shape[0]), np.zeros(layer.units), []
    for vector in x if direction == 0 else x[::-1]:
        i, f, g, o = np.split(vector @ weights["kernel"] + h @ weights["recurrent_kernel"] + weights["bias"], 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        c = np.clip(c, -layer.cell_clip, layer.cell_clip) if layer.cell_clip else c
        h = sigmoid(o) * np.tanh(c)
        if layer.projection_dim:
            h = h @ weights["projection"]
            h = np.clip(h, -layer.projection_clip, layer.projection_clip) if layer.projection_clip else h
        outputs.append(h)
    return np.stack(outputs if direction == 0 else outputs[::-1])


@pytest.mark.every_backend
@pytest.mark.parametrize("options", [{}, {"projection_dim": 3}, {"projection_dim": 3, **CLIPS}], ids=str)
def test_equals_the_formulas(options):
    layer = build(**options)
    answer = array(layer(X))
    expected = np.stack([np.concatenate([plain(layer, row, way) for way in (0, 1)], axis=-1) for row in X])
    np.testing.assert_allclose(answer, expected, atol=1e-5)
    for limit in (CLIPS["projection_clip"],) if "cell_clip" in options else ():
        assert (np.abs(answer) >= limit - 1e-6).mean() > 0.02, "the clips of this test should matter"


def test_equals_keras():
    layer = build()
    for way, go_backwards in enumerate((False, True)):
        twin = keras.layers.LSTM(6, return_sequences=True, go_backwards=go_backwards)
        twin.build(X.shape)
        twin.set_weights([array(layer.both(name))[way] for name in ("kernel", "recurrent_kernel", "bias")])
        expected = array(twin(X))[:, :: -1 if go_backwards else 1]
        np.testing.assert_allclose(array(layer(X))[..., 6 * way : 6 * way + 6], expected, atol=1e-5)


def test_padding_changes_nothing():
    layer = build(projection_dim=3, **CLIPS)
    answer = array(layer(X, REAL))
    changed = np.where(REAL[..., None], X, 50.0).astype("float32")
    np.testing.assert_array_equal(array(layer(changed, REAL)), answer)
    for row, length in enumerate(REAL.sum(axis=1)):
        alone = array(layer(X[row : row + 1, :length]))
        np.testing.assert_allclose(alone[0], answer[row, :length], atol=1e-6)


def test_directions_are_independent():
    layer = build(width=8, reads_halves=True)
    x = np.concatenate([X, X], axis=-1)
    answer = array(layer(x))
    changed = x.copy()
    changed[:, 3] += 1
    changed = array(layer(changed))
    np.testing.assert_array_equal(changed[:, :3, :6], answer[:, :3, :6])  # forward: what comes later
    np.testing.assert_array_equal(changed[:, 4:, 6:], answer[:, 4:, 6:])  # backward: what came before
    other = x.copy()
    other[..., 4:] += 1
    np.testing.assert_array_equal(array(layer(other))[..., :6], answer[..., :6])


def test_sequences_of_a_row_are_independent():
    layer = build()
    ids = np.array([[0, 0, 1, 1, 1]] * 3, "int32")
    apart = np.concatenate([array(layer(X[:, :2])), array(layer(X[:, 2:]))], axis=1)
    np.testing.assert_allclose(array(layer(X, None, ids)), apart, atol=1e-6)


@pytest.mark.every_backend
@pytest.mark.parametrize(
    ("arguments", "width"),
    [({"units": 6}, 12), ({"units": 6, "projection_dim": 3, "reads_halves": True, "cell_clip": 3.0}, 6)],
    ids=["plain", "projected"],
)
def test_contract(arguments, width, tmp_path):
    check_layer(BidirectionalLstm, arguments, X, REAL, output_shape=(3, 5, width), folder=tmp_path)
