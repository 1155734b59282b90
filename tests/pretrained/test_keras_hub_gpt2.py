"""Presets of KerasHub's GPT-2, and equality with KerasHub's own model."""

import json

import keras
import numpy as np
import pytest

from tests.pretrained.decoders import END, IDS, MERGES, SIZES, TOKENS, logits
from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.gpt import Gpt


@pytest.fixture
def keras_hub():
    """The package, loaded where it is needed alone: that takes a second."""
    return pytest.importorskip("keras_hub")


@pytest.fixture
def backbone(keras_hub):
    backbone, draw = keras_hub.models.GPT2Backbone(**SIZES), np.random.default_rng(0)
    for weight in backbone.trainable_weights:
        weight.assign(draw.normal(scale=0.3, size=weight.shape) + weight.path.endswith("gamma"))
    return backbone


@pytest.fixture
def preset(keras_hub, backbone, tmp_path):
    backbone.save_to_preset(tmp_path)
    vocabulary = {token: number for number, token in enumerate(TOKENS[:-2])}
    merges = [" ".join(pair) for pair in MERGES]
    keras_hub.models.GPT2Tokenizer(vocabulary=vocabulary, merges=merges).save_to_preset(tmp_path)
    return tmp_path


def test_equals_keras_hub(preset, backbone):
    weights = pretrained.open(preset)
    gpt = Gpt(**weights.sizes())
    report = weights.load_into(gpt)
    assert (report.unused, report.missing) == ([], [])
    hidden = backbone({"token_ids": IDS, "padding_mask": np.ones_like(IDS)})
    expected = keras.ops.convert_to_numpy(backbone.token_embedding(hidden, reverse=True))
    np.testing.assert_allclose(logits(gpt), expected, atol=1e-4)


def test_tokens_are_those_of_the_file(preset):
    read = pretrained.open(preset).tokenization()
    assert (read["vocabulary"].tokens, read["pattern"], read["end_token"]) == (TOKENS[:-2], "gpt2", END)


def test_oversized_models_are_refused(preset):
    config = json.loads((preset / "config.json").read_text())
    config["config"]["hidden_dim"] = 2**40
    (preset / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="the sizes differ from the tensors"):
        pretrained.open(preset).sizes()


def test_variables_without_a_tensor_name_are_missing(preset):
    weights = pretrained.open(preset)
    for changes in ({"tied": False}, {"qk_norm": True}):
        with pytest.raises(CheckpointError, match="tensors are missing"):
            weights.load_into(Gpt(**{**weights.sizes(), **changes}))
