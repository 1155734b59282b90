"""Character-based word vectors: equal to the formulas, independent of the batch."""

import keras
import numpy as np
import pytest

from tests.contracts.layer import check_layer
from tfattn.layers.character_words import BEYOND, CharacterWords

ARGUMENTS = {"units": 5, "character_dim": 3, "filters": [[1, 4], [2, 6], [3, 5]], "num_highways": 2}
DRAW = np.random.default_rng(0)
WORDS = DRAW.integers(1, 256, size=(4, 9)).astype("int32")
for row, length in enumerate((9, 6, 3, 1)):
    WORDS[row, length:] = BEYOND


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def build(**options):
    layer = CharacterWords(**{**ARGUMENTS, **options})
    layer.build()
    draw = np.random.default_rng(1)
    layer.set_weights([draw.normal(0, 0.7, size=weight.shape) for weight in layer.get_weights()])
    return layer


def plain(layer, word):
    """The vector of one word (W,), place by place, in float64."""
    characters = array(layer.characters.embeddings)[word].astype("float64")
    found = []
    for kernel, bias in zip(layer.kernels, layer.biases, strict=True):
        width = kernel.shape[0]
        windows = [characters[place : place + width] for place in range(len(word) - width + 1)]
        answers = [np.einsum("wc,wcf->f", window, array(kernel)) + array(bias) for window in windows]
        found.append(np.maximum(np.max(answers, axis=0), 0))
    x = np.concatenate(found)
    for highway in layer.highways:
        weights = [array(part) for one in (highway.gate, highway.transform) for part in (one.kernel, one.bias)]
        gate = 1 / (1 + np.exp(-(x @ weights[0] + weights[1])))
        x = gate * np.maximum(x @ weights[2] + weights[3], 0) + (1 - gate) * x
    return x @ array(layer.projection.kernel) + array(layer.projection.bias)


@pytest.mark.every_backend
def test_equals_the_formulas():
    layer = build()
    np.testing.assert_allclose(array(layer(WORDS)), np.stack([plain(layer, word) for word in WORDS]), atol=1e-4)


def test_padding_after_a_word_is_ignored():
    layer = build()
    np.testing.assert_array_equal(array(layer(np.where(WORDS == BEYOND, 0, WORDS))), array(layer(WORDS)))


def test_unused_character_columns_may_be_cut():
    layer = build()
    few, cut = WORDS[2:], WORDS[2:, : 3 + 3]  # the longest word, and as many places as the widest filter has
    np.testing.assert_allclose(array(layer(cut)), array(layer(few)), atol=1e-6)


def test_highways_start_near_the_identity():
    layer = CharacterWords(**ARGUMENTS)
    layer.build()
    for highway in layer.highways:
        np.testing.assert_array_equal(array(highway.gate.bias), -2.0)


def test_contract(tmp_path):
    check_layer(CharacterWords, ARGUMENTS, WORDS, output_shape=(4, 5), folder=tmp_path)
