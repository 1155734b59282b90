"""Llama folders of Hugging Face: names, refusals, and equality with transformers."""

import json

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.pretrained import decoders
from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.gpt import Gpt


def test_import(tmp_path, same_weights):
    gpt = decoders.random_gpt(**decoders.LLAMA)
    weights = pretrained.open(decoders.write_llama(tmp_path, gpt))
    loaded = Gpt(**weights.sizes())
    report = weights.load_into(loaded)
    same_weights(loaded, gpt)
    assert (report.unused, report.missing) == ([], [])


@pytest.mark.parametrize("older", [False, True], ids=["as today", "as of older versions"])
def test_rotary_settings(tmp_path, older):
    changes = {"rope_parameters": None, "rope_theta": 500.0, "rope_scaling": None} if older else {}
    weights = pretrained.open(decoders.write_llama(tmp_path, decoders.random_gpt(**decoders.LLAMA), **changes))
    assert weights.sizes()["rotary_base"] == (500.0 if older else 100.0)


def test_bfloat16_is_widened(tmp_path):
    gpt = decoders.random_gpt(**decoders.LLAMA)
    path = decoders.write_llama(tmp_path, gpt) / "model.safetensors"
    save_file({name: value.astype(ml_dtypes.bfloat16) for name, value in load_file(path).items()}, path)
    weights = pretrained.open(tmp_path)
    loaded = Gpt(**weights.sizes())
    weights.load_into(loaded)
    ours, theirs = decoders.values_of(loaded), decoders.values_of(gpt)
    for name, value in ours.items():
        np.testing.assert_allclose(value, theirs[name], rtol=2**-8)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "a head of its own"])
def test_equals_transformers(tmp_path, tied):
    (tmp_path / "config.json").write_text(json.dumps({**decoders.LLAMA_CONFIG, "tie_word_embeddings": tied}))
    expected = decoders.logits_of_transformers("LlamaForCausalLM", tmp_path, tmp_path)
    weights = pretrained.open(tmp_path)
    gpt = Gpt(**weights.sizes())
    weights.load_into(gpt)
    assert gpt.tied == tied and np.ptp(expected) > 1
    np.testing.assert_allclose(decoders.logits(gpt), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_parameters": {"rope_theta": 1.0, "rope_type": "llama3"}}, "expected rope_type to be default"),
        ({"rope_scaling": {"type": "linear"}}, "expected rope_scaling to be None"),
        ({"head_dim": 16}, "expected head_dim to be 8, received 16"),
        ({"attention_bias": True}, "expected attention_bias to be False"),
        ({"num_attention_heads": 0}, "expected num_heads to be an integer above 0, received 0"),
        ({"intermediate_size": 2**40}, "gate_proj.weight, .*up_proj.weight: the sizes differ from the tensors"),
    ],
)
def test_unsupported_or_oversized_models_are_refused(tmp_path, changes, message):
    weights = pretrained.open(decoders.write_llama(tmp_path, decoders.random_gpt(**decoders.LLAMA), **changes))
    with pytest.raises(CheckpointError, match=message):
        weights.sizes()


def test_weights_in_several_files_are_refused(tmp_path):
    folder = decoders.write_llama(tmp_path, decoders.random_gpt(**decoders.LLAMA))
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    with pytest.raises(CheckpointError, match="received model-00001-of-00002.safetensors. Save .* again .*in one file"):
        pretrained.open(folder).sizes()
