"""ELMo in AllenNLP's files: equality with the formulas for random weights, and invalid files."""

import json

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.elmo import Elmo
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.spelled_words import SpelledWords

P, D, C, FILTERS = 6, 10, 4, [[1, 5], [2, 7], [4, 8]]
OPTIONS = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": P,
        "cell_clip": 0.6,
        "proj_clip": 0.5,
        "dim": D,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": FILTERS,
        "n_highway": 2,
        "embedding": {"dim": C},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}
TEXTS = ["The mixer rattles.", "Gerät " + "x" * 60 + "!", "a"]


def write(folder, options=OPTIONS, without=()):
    """Random weights in AllenNLP's layout."""
    draw = np.random.default_rng(3)
    total = sum(count for _, count in FILTERS)
    shapes = {"char_embed": (261, C), "CNN_proj/W_proj": (total, P), "CNN_proj/b_proj": (P,)}
    for number, (width, count) in enumerate(FILTERS):
        shapes |= {f"CNN/W_cnn_{number}": (1, width, C, count), f"CNN/b_cnn_{number}": (count,)}
    for number in range(2):
        for what in ("transform", "carry"):
            name = f"CNN_high_{number}"
            shapes |= {f"{name}/W_{what}": (total, total), f"{name}/b_{what}": (total,)}
    for direction in range(2):
        for layer in range(2):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {f"{cell}/W_0": (2 * P, 4 * D), f"{cell}/B": (4 * D,), f"{cell}/W_P_0": (D, P)}
    weights = {name: draw.normal(0, 0.5, size=shape).astype("float32") for name, shape in shapes.items()}
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, value in weights.items():
            if name not in without:
                file.create_dataset(name, data=value)
    (folder / "options.json").write_text(json.dumps(options))
    return weights


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def word_vector(weights, word):
    """The vector of a word, or of a mark, given the number of its character in a list."""
    data = word if isinstance(word, list) else list(word.encode()[:48])
    numbers = [258, *data, 259]
    characters = weights["char_embed"][numbers + [260] * (50 - len(numbers))]
    found = []
    for number, (width, _) in enumerate(FILTERS):
        kernel, bias = weights[f"CNN/W_cnn_{number}"][0], weights[f"CNN/b_cnn_{number}"]
        windows = np.stack([characters[place : place + width] for place in range(50 - width + 1)])
        found.append(np.maximum((np.einsum("nwc,wcf->nf", windows, kernel) + bias).max(axis=0), 0))
    x = np.concatenate(found)
    for number in range(2):
        high = {
            name: weights[f"CNN_high_{number}/{name}"] for name in ("W_carry", "b_carry", "W_transform", "b_transform")
        }
        carry = sigmoid(x @ high["W_carry"] + high["b_carry"])
        x = carry * np.maximum(x @ high["W_transform"] + high["b_transform"], 0) + (1 - carry) * x
    return x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]


def lstm(weights, inputs, direction, layer):
    """The published cell, which adds 1 to the gate that forgets: i, j, f, o."""
    cell = {
        name: weights[f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/{name}"] for name in ("W_0", "B", "W_P_0")
    }
    h, c, outputs = np.zeros(P), np.zeros(D), []
    for x in inputs[:: -1 if direction else 1]:
        i, j, f, o = np.split(np.concatenate([x, h]) @ cell["W_0"] + cell["B"], 4)
        c = np.clip(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), -0.6, 0.6)
        h = np.clip((sigmoid(o) * np.tanh(c)) @ cell["W_P_0"], -0.5, 0.5)
        outputs.append(h)
    return np.stack(outputs[:: -1 if direction else 1])


def published_layers(weights, words):
    vectors = np.stack([word_vector(weights, word) for word in ([256], *words, [257])])
    layers, ways = [np.concatenate([vectors, vectors], axis=-1)], [vectors, vectors]
    for layer in range(2):
        found = [lstm(weights, x, direction, layer) for direction, x in enumerate(ways)]
        ways = found if layer == 0 else [new + x for new, x in zip(found, ways, strict=True)]
        layers.append(np.concatenate(ways, axis=-1))
    return layers


def test_layers_match_the_published_formulas(tmp_path):
    weights = write(tmp_path)
    source = pretrained.open(tmp_path)
    elmo = Elmo(**source.sizes(), dropout=0.0)
    report = source.load_into(elmo, [elmo.pooler])
    assert not report.unused and not report.missing
    words = SpelledWords()
    words.fit([{"text": "any"}])
    features = padded(words({"text": tf.constant(TEXTS)}))
    layers = [keras.ops.convert_to_numpy(x) for x in elmo(features)["hidden_states"]]
    for row, text in enumerate([["The", "mixer", "rattles", "."], ["Gerät", "x" * 60, "!"], ["a"]]):
        for layer, expected in enumerate(published_layers(weights, text)):
            np.testing.assert_allclose(layers[layer][row, : len(expected)], expected, atol=1e-4)


def changed(part, **values):
    return {**OPTIONS, part: {**OPTIONS[part], **values}}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (changed("char_cnn", max_characters_per_token=20), "words have another number of characters"),
        (changed("lstm", use_skip_connections=False), "expected use_skip_connections"),
        (changed("char_cnn", activation="selu"), "activation to be one of relu, tanh"),
    ],
)
def test_unsupported_options_are_refused(tmp_path, options, told):
    write(tmp_path, options)
    with pytest.raises(CheckpointError, match=told):
        pretrained.open(tmp_path).sizes()


def test_missing_tensors_are_named(tmp_path):
    write(tmp_path, without=["CNN_proj/b_proj"])
    source = pretrained.open(tmp_path)
    elmo = Elmo(**source.sizes())
    with pytest.raises(CheckpointError, match="CNN_proj/b_proj"):
        source.load_into(elmo, [elmo.pooler])


def test_a_damaged_file_is_named(tmp_path):
    write(tmp_path)
    (tmp_path / "weights.hdf5").write_bytes(b"no HDF5")
    with pytest.raises(CheckpointError, match="cannot be read as HDF5"):
        pretrained.open(tmp_path).stored_shapes()
