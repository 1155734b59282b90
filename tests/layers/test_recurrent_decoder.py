"""The four recurrent decoders: equal to the formulas of the papers, as a whole and step by step."""

import keras
import numpy as np
import pytest

from tfattn.layers.bahdanau_decoder import BahdanauDecoder
from tfattn.layers.luong_decoder import InputFeedingDecoder, LuongDecoder
from tfattn.layers.recurrent_decoder import PlainDecoder, by_source, flat

DRAW = np.random.default_rng(0)
TOKENS = DRAW.normal(size=(2, 4, 3)).astype("float32")  # (B, T, E)
ANNOTATIONS = DRAW.normal(size=(2, 5, 6)).astype("float32")  # (B, S, C)
SUMMARY = DRAW.normal(size=(2, 6)).astype("float32")
REAL = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
DECODERS = [PlainDecoder, BahdanauDecoder, LuongDecoder, InputFeedingDecoder]


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def build(decoder_class, **options):
    """A decoder whose weights are all drawn, biases too."""
    decoder = decoder_class(hidden_dim=4, output_dim=5, name="decoder", **options)
    decoder.build(TOKENS.shape, ANNOTATIONS.shape)
    draw = np.random.default_rng(1)
    decoder.set_weights([draw.normal(0, 0.4, size=weight.shape) for weight in decoder.get_weights()])
    return decoder


def read(decoder, **options):
    memory = decoder.memory_of(ANNOTATIONS, SUMMARY, REAL)
    return array(decoder(TOKENS, memory, **options))


class ByHand:
    """One sentence at a time in float64, with numpy alone."""

    def __init__(self, decoder):
        self.weights = {v.path.removeprefix("decoder/"): array(v).astype("float64") for v in decoder.weights}
        self.num_layers = decoder.num_layers

    def dense(self, x, name):
        return x @ self.weights[f"{name}/kernel"] + self.weights[f"{name}/bias"]

    def gru(self, inputs, h, layer):
        recurrent = h @ self.weights[f"{layer}/cell/recurrent_kernel"] + self.weights[f"{layer}/cell/recurrent_bias"]
        (input_z, input_r, input_n), (z, r, n) = np.split(inputs, 3), np.split(recurrent, 3)
        z, r = (1 / (1 + np.exp(-x)) for x in (input_z + z, input_r + r))
        return (1 - z) * np.tanh(input_n + r * n) + z * h

    def first(self, row):
        return np.split(np.tanh(self.dense(SUMMARY[row], "initial_state")), self.num_layers)

    def upwards(self, states):
        """Takes the upper layers' step; states[0] is the bottom layer's new state."""
        for index in range(1, self.num_layers):
            layer = f"layer_{index}"
            states[index] = self.gru(self.dense(states[index - 1], f"{layer}/input"), states[index], layer)
        return states[-1]

    def context(self, state, row):
        source = ANNOTATIONS[row][REAL[row]]
        hidden = np.tanh(state @ self.weights["alignment/query"] + source @ self.weights["alignment/key"])
        scores = np.exp(hidden @ self.weights["alignment/vector"])
        return scores @ source / scores.sum()

    def plain(self, row):
        states = self.first(row)
        for y in TOKENS[row]:
            x = np.concatenate([y, SUMMARY[row]])
            states[0] = self.gru(self.dense(x, "layer_0/input"), states[0], "layer_0")
            yield [self.upwards(states), y, SUMMARY[row]]

    def bahdanau(self, row):
        states = self.first(row)
        for y in TOKENS[row]:
            c = self.context(states[0], row)
            states[0] = self.gru(self.dense(y, "layer_0/input") + self.dense(c, "context"), states[0], "layer_0")
            yield [self.upwards(states), c, y]

    def luong(self, row):
        states = self.first(row)
        for y in TOKENS[row]:
            states[0] = self.gru(self.dense(y, "layer_0/input"), states[0], "layer_0")
            top = self.upwards(states)
            yield [top, self.context(top, row)]

    def input_feeding(self, row):
        states, fed = self.first(row), np.zeros(5)
        for y in TOKENS[row]:
            states[0] = self.gru(self.dense(y, "layer_0/input") + self.dense(fed, "fed"), states[0], "layer_0")
            top = self.upwards(states)
            parts = [top, self.context(top, row)]
            fed = self.read_out(parts)
            yield parts

    def read_out(self, parts):
        return np.tanh(self.dense(np.concatenate(parts), "readout"))


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize(
    ("decoder_class", "steps"),
    zip(DECODERS, (ByHand.plain, ByHand.bahdanau, ByHand.luong, ByHand.input_feeding), strict=True),
)
def test_equals_the_formulas(decoder_class, steps, num_layers):
    decoder = build(decoder_class, num_layers=num_layers)
    hand = ByHand(decoder)
    expected = [[hand.read_out(parts) for parts in steps(hand, row)] for row in range(2)]
    np.testing.assert_allclose(read(decoder), expected, atol=1e-5)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("decoder_class", DECODERS)
def test_step_by_step_equals_the_whole(decoder_class, cell):
    decoder = build(decoder_class, num_layers=2, cell=cell, score="general")
    whole, memory = read(decoder), decoder.memory_of(ANNOTATIONS, SUMMARY, REAL)
    state = decoder.first_state(memory)
    for position in range(4):
        output, state, alignment = decoder.step(TOKENS[:, position], memory, state)
        np.testing.assert_allclose(array(output), whole[:, position], atol=1e-5)
        if decoder_class is PlainDecoder:
            assert alignment is None
        else:
            np.testing.assert_allclose(array(alignment).sum(axis=-1), 1.0, atol=1e-6)
            assert (array(alignment)[0, 3:] == 0).all()


@pytest.mark.parametrize("decoder_class", DECODERS)
def test_dropout_between_layers_acts_only_in_training(decoder_class):
    decoder = build(decoder_class, num_layers=2, dropout=0.5)
    np.testing.assert_array_equal(read(decoder), read(decoder))
    assert (read(decoder, training=True) != read(decoder, training=True)).any()


def test_input_feeding_is_part_of_the_state():
    decoder = build(InputFeedingDecoder)
    memory = decoder.memory_of(ANNOTATIONS, SUMMARY, REAL)
    layers, fed = decoder.first_state(memory)
    output, (_, new), _ = decoder.step(TOKENS[:, 0], memory, (layers, fed))
    np.testing.assert_array_equal(array(new), array(output))
    other, _, _ = decoder.step(TOKENS[:, 0], memory, (layers, fed + 1.0))
    assert np.abs(array(other) - array(output)).max() > 1e-3


def test_rows_of_a_source_are_adjacent():
    rows = np.arange(12, dtype="float32").reshape(6, 2)
    together = by_source(rows, {"summary": SUMMARY})
    assert together.shape == (2, 3, 2)
    np.testing.assert_array_equal(array(together)[1, 0], rows[3])
    np.testing.assert_array_equal(array(flat(together)), rows)
