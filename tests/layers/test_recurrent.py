"""GRU and LSTM layers: equal to Keras, independent of padding, and the layer contract."""

import keras
import numpy as np
import pytest

from tests.contracts.layer import check_layer
from tfattn.layers.recurrent import Bidirectional, Cell, Recurrent

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(3, 5, 4)).astype("float32")
REAL = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0]], bool)


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def build(layer_class=Recurrent, **arguments):
    """A layer whose weights are all drawn, biases too."""
    layer = layer_class(units=6, **arguments)
    layer.build(X.shape)
    draw = np.random.default_rng(1)
    layer.set_weights([draw.normal(0, 0.5, size=weight.shape) for weight in layer.get_weights()])
    return layer


def keras_twin(layer):
    """Keras's layer with the same weights."""
    options = {"return_sequences": True, "go_backwards": layer.go_backwards}
    kernel, bias = (array(v) for v in layer.input_projection.weights)
    recurrent_kernel, recurrent_bias = (array(v) for v in layer.transition.weights)
    twin = (keras.layers.GRU if layer.cell == "gru" else keras.layers.LSTM)(6, **options)
    twin.build(X.shape)
    biases = np.stack([bias, recurrent_bias]) if layer.cell == "gru" else bias + recurrent_bias
    twin.set_weights([kernel, recurrent_kernel, biases])
    return twin


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_equals_keras(cell, go_backwards):
    layer = build(cell=cell, go_backwards=go_backwards)
    expected = array(keras_twin(layer)(X))
    # Going backwards, Keras answers in the order in which it reads.
    np.testing.assert_allclose(array(layer(X)), expected[:, ::-1] if go_backwards else expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_step_by_step_equals_the_whole(cell):
    layer = build(cell=cell)
    start = tuple(DRAW.normal(size=(3, 6)).astype("float32") for _ in range(layer.transition.num_states))
    whole, state = array(layer(X, initial_state=start)), start
    for position in range(5):
        state = layer.step(X[:, position], state)
        np.testing.assert_allclose(array(state[0]), whole[:, position], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", [build(), build(go_backwards=True), build(cell="lstm"), build(Bidirectional)])
def test_padding_changes_nothing(layer):
    answer = array(layer(X, REAL))
    changed = np.where(REAL[..., None], X, 50.0).astype("float32")
    np.testing.assert_array_equal(array(layer(changed, REAL)), answer)
    for row, length in enumerate(REAL.sum(axis=1)):
        alone = array(layer(X[row : row + 1, :length]))
        np.testing.assert_allclose(alone[0], answer[row, :length], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_output_is_unchanged_at_padding(cell):
    answer = array(build(cell=cell)(X, REAL))
    np.testing.assert_array_equal(answer[0, 3:], answer[0, [2, 2]])
    backwards = array(build(cell=cell, go_backwards=True)(X, REAL))
    assert (backwards[0, 3:] == 0).all()


def test_final_states_of_both_directions_cover_the_sequence():
    layer = build(Bidirectional)
    outputs = layer(X, REAL)
    last = array(layer.last_states(outputs))
    forward, backward = array(layer.forward(X, REAL)), array(layer.backward(X, REAL))
    np.testing.assert_array_equal(array(outputs), np.concatenate([forward, backward], axis=-1))
    for row, length in enumerate(REAL.sum(axis=1)):
        expected = np.concatenate([forward[row, length - 1], backward[row, 0]])
        np.testing.assert_array_equal(last[row], expected)


def test_gates_are_initialized_orthogonal_and_different():
    layer = Cell(units=6)
    layer.build((None, 18))
    kernels = np.split(array(layer.recurrent_kernel), 3, axis=1)
    for kernel in kernels:
        np.testing.assert_allclose(kernel @ kernel.T, np.eye(6), atol=1e-5)
    assert np.abs(kernels[0] - kernels[1]).max() > 0.1


def test_the_forget_gate_bias_starts_at_1():
    layer = Cell(units=2, cell="lstm")
    layer.build((None, 8))
    np.testing.assert_array_equal(array(layer.recurrent_bias), [0, 0, 1, 1, 0, 0, 0, 0])


CONTRACTS = [
    pytest.param(Recurrent, {"units": 6}, id="gru"),
    pytest.param(Recurrent, {"units": 6, "cell": "lstm"}, id="lstm"),
    pytest.param(Recurrent, {"units": 6, "go_backwards": True}, id="backwards"),
    pytest.param(Bidirectional, {"units": 6}, id="bidirectional"),
]


@pytest.mark.every_backend
@pytest.mark.parametrize(("layer_class", "arguments"), CONTRACTS)
def test_contract(layer_class, arguments, tmp_path):
    check_layer(layer_class, arguments, X, REAL, output_shape=(3, 5, 6), folder=tmp_path)
