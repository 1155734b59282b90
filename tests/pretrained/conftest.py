"""A tiny BERT with random weights, and folders of it in every published format."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

from tfattn.models.bert import Bert

SIZES = {
    "vocabulary_size": 12,
    "hidden_dim": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_dim": 20,
    "max_sequence_length": 16,
}
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b", "##c", "."]
CONFIG = {
    "model_type": "bert",
    "vocab_size": 12,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
}
FEATURES = {
    "token_ids": np.array([[2, 5, 6, 3, 0, 0], [2, 7, 3, 10, 11, 3]], "int32"),
    "padding_mask": np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], "int32"),
    "segment_ids": np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]], "int32"),
}


@pytest.fixture
def features() -> dict[str, np.ndarray]:
    return FEATURES


@pytest.fixture
def tiny() -> Bert:
    """Return a BERT whose weights are all different, including norms and biases."""
    bert = Bert(**SIZES, initializer_range=0.3)
    draw = np.random.default_rng(0)
    for weight in bert.weights:
        if "seed" not in weight.path:
            weight.assign(draw.normal(scale=0.3, size=weight.shape) + (weight.path.endswith("gamma")))
    return bert


@pytest.fixture
def original(tiny) -> dict[str, np.ndarray]:
    """Return its weights under the names of google-research/bert, listed explicitly."""
    value = {v.path.removeprefix("bert/"): keras.ops.convert_to_numpy(v) for v in tiny.weights}
    names = {
        "embeddings/word_embeddings": value["embeddings/token/embeddings"],
        "embeddings/position_embeddings": value["embeddings/position/embeddings"],
        "embeddings/token_type_embeddings": value["embeddings/segment/embeddings"],
        "embeddings/LayerNorm/gamma": value["embeddings/norm/gamma"],
        "embeddings/LayerNorm/beta": value["embeddings/norm/beta"],
        "pooler/dense/kernel": value["pooler/dense/kernel"],
        "pooler/dense/bias": value["pooler/dense/bias"],
    }
    for index in range(2):
        ours, theirs = f"block_{index}", f"encoder/layer_{index}"
        for kind in ("kernel", "bias"):
            parts = np.split(value[f"{ours}/attention/qkv/{kind}"], 3, axis=-1)
            for name, part in zip(("query", "key", "value"), parts, strict=True):
                names[f"{theirs}/attention/self/{name}/{kind}"] = part
            names[f"{theirs}/attention/output/dense/{kind}"] = value[f"{ours}/attention/output/{kind}"]
            names[f"{theirs}/intermediate/dense/{kind}"] = value[f"{ours}/feed_forward/intermediate/{kind}"]
            names[f"{theirs}/output/dense/{kind}"] = value[f"{ours}/feed_forward/output/{kind}"]
        for kind in ("gamma", "beta"):
            names[f"{theirs}/attention/output/LayerNorm/{kind}"] = value[f"{ours}/attention_norm/{kind}"]
            names[f"{theirs}/output/LayerNorm/{kind}"] = value[f"{ours}/feed_forward_norm/{kind}"]
    return names


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a folder with a vocabulary, for a configuration and weights."""
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    return tmp_path


def write_config(folder: Path, name: str = "config.json", **changes) -> None:
    (folder / name).write_text(json.dumps({**CONFIG, **changes}))


@pytest.fixture
def config():
    """Return a function that writes a configuration into a folder."""
    return write_config


@pytest.fixture
def same_weights():
    """Return a function that compares the weights of two models by name."""

    def check(one: keras.Model, other: keras.Model) -> None:
        for a, b in zip(one.weights, other.weights, strict=True):
            assert a.path == b.path
            if "seed" not in a.path:
                np.testing.assert_array_equal(keras.ops.convert_to_numpy(a), keras.ops.convert_to_numpy(b), a.path)

    return check
