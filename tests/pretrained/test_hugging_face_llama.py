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
        ({"rope_parameters": {"rope_theta": 1.0, "rope_type": "longrope"}}, "expected rope_type to be default"),
        ({"head_dim": 16}, "o_proj.weight: the sizes differ from the tensors"),
        ({"num_attention_heads": 0}, "expected num_heads to be an integer > 0, received 0"),
        ({"intermediate_size": 2**40}, "gate_proj.weight, .*up_proj.weight: the sizes differ from the tensors"),
    ],
)
def test_unsupported_or_oversized_models_are_refused(tmp_path, changes, message):
    weights = pretrained.open(decoders.write_llama(tmp_path, decoders.random_gpt(**decoders.LLAMA), **changes))
    with pytest.raises(CheckpointError, match=message):
        weights.sizes()


FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def in_two_files(folder):
    """Divide the weights of a folder into two files with an index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    files = {name: FIRST if number < 7 else SECOND for number, name in enumerate(tensors)}
    for file in (FIRST, SECOND):
        save_file({name: tensors[name] for name in tensors if files[name] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))


def test_weights_in_several_files(tmp_path, same_weights):
    gpt = decoders.random_gpt(**decoders.LLAMA)
    whole = pretrained.open(decoders.write_llama(tmp_path, gpt))
    fingerprint = whole.fingerprint()
    in_two_files(tmp_path)
    weights = pretrained.open(tmp_path)
    loaded = Gpt(**weights.sizes())
    assert weights.load_into(loaded).unused == []
    same_weights(loaded, gpt)
    seen = {fingerprint, weights.fingerprint()}
    (tmp_path / SECOND).write_bytes((tmp_path / SECOND).read_bytes() + b"x")
    assert pretrained.open(tmp_path).fingerprint() not in seen and len(seen) == 2


def _remove(folder, name):
    (folder / name).unlink()


def _map_all(folder, file):
    path = folder / "model.safetensors.index.json"
    names = json.loads(path.read_text())["weight_map"]
    path.write_text(json.dumps({"weight_map": dict.fromkeys(names, file)}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: _remove(folder, SECOND), f"expected {SECOND}, received {FIRST}. Download all files that"),
        (lambda folder: _remove(folder, "model.safetensors.index.json"), "Files in parts need their index, model.saf"),
        (lambda folder: _map_all(folder, FIRST), f"{FIRST}: the file lacks tensors that the index lists: expected mod"),
        (lambda folder: _map_all(folder, "../other.safetensors"), "a file is missing: expected ../other.safetensors"),
    ],
)
def test_incomplete_weights_in_several_files_are_refused(tmp_path, change, message):
    folder = decoders.write_llama(tmp_path, decoders.random_gpt(**decoders.LLAMA))
    in_two_files(folder)
    change(folder)
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(folder).sizes()
