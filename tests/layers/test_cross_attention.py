"""Cross-attention: padding of the source, shared memory of beams, scores; equal to the layer of Keras."""

import keras
import numpy as np
import pytest

from tfattn.layers.cross_attention import CrossAttention
from tfattn.ops import masks

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(2, 5, 8)).astype("float32")
SOURCE = DRAW.normal(size=(2, 6, 8)).astype("float32")
REAL = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])


def layer(**arguments):
    made = CrossAttention(num_heads=2, initializer_range=0.5, **arguments)
    made.build((None, None, 8))
    return made


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_equals_keras():
    ours = layer()
    ours.key_value.bias.assign(np.random.default_rng(1).normal(size=16))
    keras_layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)
    mask = np.broadcast_to(REAL[:, None, :], (2, 5, 6)).astype(bool)
    keras_layer.build(X.shape, SOURCE.shape)
    kernels = [array(ours.query.kernel), *np.split(array(ours.key_value.kernel), 2, axis=1)]
    biases = [array(ours.query.bias), *np.split(array(ours.key_value.bias), 2)]
    inner = [part.reshape(-1, 2, 4).squeeze() for pair in zip(kernels, biases, strict=True) for part in pair]
    output = [array(ours.output_projection.kernel).reshape(2, 4, 8), array(ours.output_projection.bias)]
    keras_layer.set_weights([*inner, *output])
    expected, weights = keras_layer(X, SOURCE, attention_mask=mask, return_attention_scores=True)
    memory = ours.memory_of(SOURCE)
    assert [tuple(part.shape) for part in memory] == [(2, 2, 6, 4)] * 2
    answer, scores = ours(X, memory, attention_mask=masks.padding(REAL), return_attention_scores=True)
    np.testing.assert_allclose(array(answer), array(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(array(scores), array(weights), rtol=1e-5, atol=1e-6)


def test_padding_of_the_source_changes_nothing():
    attention, mask = layer(), masks.padding(REAL)
    changed = SOURCE.copy()
    changed[0, 4:] = 50.0
    answer, scores = attention(X, attention.memory_of(SOURCE), attention_mask=mask, return_attention_scores=True)
    other = attention(X, attention.memory_of(changed), attention_mask=mask)
    np.testing.assert_array_equal(array(other), array(answer))
    alone = attention(X[:1], attention.memory_of(SOURCE[:1, :4]))
    np.testing.assert_allclose(array(alone)[0], array(answer)[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(array(scores).sum(-1), 1.0, rtol=1e-5)
    assert (array(scores)[0, :, :, 4:] == 0).all()


@pytest.mark.parametrize("length", [1, 5])
def test_beams_share_the_memory_of_their_source(length):
    attention, mask = layer(), masks.padding(REAL)
    beams = DRAW.normal(size=(2 * 3, length, 8)).astype("float32")
    answer, scores = attention(beams, attention.memory_of(SOURCE), attention_mask=mask, return_attention_scores=True)
    repeated = attention.memory_of(np.repeat(SOURCE, 3, axis=0))
    expected, expected_scores = attention(
        beams, repeated, attention_mask=masks.padding(np.repeat(REAL, 3, axis=0)), return_attention_scores=True
    )
    np.testing.assert_allclose(array(answer), array(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(array(scores), array(expected_scores), rtol=1e-5, atol=1e-6)


def test_dropout_acts_only_in_training():
    attention = layer(dropout=0.5)
    memory = attention.memory_of(SOURCE)
    np.testing.assert_array_equal(array(attention(X, memory)), array(attention(X, memory)))
    assert (array(attention(X, memory, training=True)) != array(attention(X, memory, training=True))).any()


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="num_heads: expected a divisor of the width 8, received 3"):
        CrossAttention(num_heads=3).build((1, 5, 8))
