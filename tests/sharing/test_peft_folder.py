"""Folders of the package peft: read with its outputs, written for it, and refused if they do not fit."""

import functools
import json
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from benchmarks import architectures, peers
from tests.pretrained.adapters import CASES, run_reference, stored, write_adapter, write_base
from tfattn import pretrained, registry
from tfattn.errors import CheckpointError, ConfigError
from tfattn.layers.adapters import merge
from tfattn.layers.lora import Lora
from tfattn.pretrained import peft_adapter
from tfattn.sharing import peft_folder
from tfattn.sharing.trained_export import defaults

NAMES = pytest.mark.parametrize("name", CASES)
TOLERANCE = 1e-4


def described(weights):
    arguments = {**defaults("models", weights.model), **weights.sizes()}
    return peft_folder.Adapted(weights.model, arguments, "byte_bpe", str(weights.path))


def adapted(base, adapter):
    """Return the base with an adapter."""
    weights, published = pretrained.open(base), peft_adapter.open(adapter)
    model = registry.find("models", weights.model)(**weights.sizes())
    weights.load_into(model, [model.pooler] if hasattr(model, "pooler") else [])
    Lora(**published.arguments({"name": weights.model, **weights.sizes()})).attach(model)
    peft_folder.load(published, model, described(weights))
    return model, described(weights)


def output(model, case):
    """Compute what is stored of peft: logits of decoders, the top vectors of encoders at real tokens."""
    if case.is_decoder:
        return np.asarray(model({"token_ids": case.inputs["input_ids"].astype("int32")})["logits"])
    found = np.asarray(model(architectures._features(case.inputs))["sequence_output"])
    return found[np.arange(architectures.TOKENS) < np.array(architectures.LENGTHS)[:, None]]


def expected(values, case):
    values = np.asarray(values)
    return values if case.is_decoder else values[np.arange(values.shape[1]) < np.array(architectures.LENGTHS)[:, None]]


@functools.cache
def has_peft():
    done = subprocess.run([peers.TORCH_PYTHON, "-c", "import peft"], check=False, capture_output=True)
    return done.returncode == 0


@NAMES
def test_outputs_are_those_of_peft_merged_and_unmerged(tmp_path, name):
    case = CASES[name]
    base = write_base(tmp_path / "base", case)
    model, description = adapted(base, write_adapter(tmp_path / "adapter", name))
    wanted = expected(stored(name)["output"], case)
    np.testing.assert_allclose(output(model, case), wanted, atol=TOLERANCE)
    # What is written has the same outputs here and, where it is installed, in peft.
    (tmp_path / "written").mkdir()
    peft_folder.write(model, tmp_path / "written", description)
    again, _ = adapted(base, tmp_path / "written")
    np.testing.assert_allclose(output(again, case), wanted, atol=TOLERANCE)
    if has_peft():
        for found in run_reference(case, base, tmp_path / "written").values():
            np.testing.assert_allclose(expected(found, case), wanted, atol=TOLERANCE)
    merge(model)
    np.testing.assert_allclose(output(model, case), wanted, atol=TOLERANCE)
    assert not any("lora" in weight.path for weight in model.weights)


@NAMES
def test_stored_outputs_are_those_of_the_installed_peft(tmp_path, name):
    if not has_peft():
        pytest.skip("needs torch and peft, to compare with; TORCH_PYTHON may name a Python that has them")
    base = write_base(tmp_path / "base", CASES[name])
    for found in run_reference(CASES[name], base, write_adapter(tmp_path / "adapter", name)).values():
        np.testing.assert_allclose(found, stored(name)["output"], atol=TOLERANCE)


def test_targets_are_names_of_modules_that_select_no_others(tmp_path):
    model, description = adapted(write_base(tmp_path / "base", CASES["bert"]), write_adapter(tmp_path / "a", "bert"))
    (tmp_path / "written").mkdir()
    peft_folder.write(model, tmp_path / "written", description)
    config = json.loads((tmp_path / "written/adapter_config.json").read_text())
    assert config["target_modules"] == ["attention.self.query", "attention.self.value", "intermediate.dense"]
    assert (config["r"], config["lora_alpha"], config["bias"]) == (2, 3.0, "none")
    names = ["layer.0.attention.output.dense", "layer.0.output.dense"]
    assert peft_folder.short_names(names[1:], names) == ["layer.0.output.dense"]


def test_an_adapter_of_another_base_is_refused_by_the_names_of_its_modules(tmp_path):
    adapter = write_adapter(tmp_path / "adapter", "llama")
    weights = pretrained.open(write_base(tmp_path / "base", CASES["bert"]))
    message = "the adapter is for another model: expected attention and feed-forward layers of a `bert`, received model"
    with pytest.raises(CheckpointError, match=message):
        peft_adapter.open(adapter).arguments({"name": "bert", **weights.sizes()})
    model = keras_model(weights)
    with pytest.raises(CheckpointError, match=r"the adapter is for another base: .*\n?.*model\.layers"):
        peft_folder.load(peft_adapter.open(adapter), model, described(weights))


def keras_model(weights):
    model = registry.find("models", weights.model)(**weights.sizes())
    Lora(rank=2, alpha=3.0, targets=["query"]).attach(model)
    return model


def test_an_adapter_of_another_width_is_refused_by_its_shapes(tmp_path):
    base, adapter = write_base(tmp_path / "base", CASES["bert"]), write_adapter(tmp_path / "adapter", "bert")
    path = adapter / "adapter_model.safetensors"
    tensors = {name: value[:, :5] if "lora_A" in name else value for name, value in load_file(path).items()}
    save_file(tensors, path)
    with pytest.raises(CheckpointError, match=r"the adapter is for another base: .*received .*query \(5, 2\) for"):
        adapted(base, adapter)


def damaged(folder):
    content = (folder / "adapter_model.safetensors").read_bytes()
    (folder / "adapter_model.safetensors").write_bytes(content[:-9])


def pickled(folder):
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")


def without_matrices(folder):
    save_file({"x": np.zeros(3)}, folder / "adapter_model.safetensors")


def setting(**changes):
    def change(folder):
        config = json.loads((folder / "adapter_config.json").read_text())
        (folder / "adapter_config.json").write_text(json.dumps({**config, **changes}))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damaged, r"cannot be read as safetensors"),
        (pickled, r"received adapter_model.bin. Pickled weights can run code and are never read; save the adapter"),
        (without_matrices, r"no low-rank matrices: expected tensors base_model.model.MODULE.lora_A.weight"),
        (setting(use_dora=True), r"the adapter is not supported: expected use_dora to be False, received True"),
        (setting(peft_type="IA3"), r"expected peft_type to be LORA, received IA3"),
        (setting(layers_to_transform=[0]), r"expected layers_to_transform to be None, received \[0\]"),
        (setting(r=0), r"wrong value: expected a number above 0, received 0"),
    ],
)
def test_folders_that_are_not_read(tmp_path, change, message):
    folder = write_adapter(tmp_path / "adapter", "bert")
    change(folder)
    with pytest.raises(CheckpointError, match=message):
        peft_adapter.open(folder).arguments({"name": "bert", "activation": "gelu"})


def test_a_folder_without_an_adapter_is_refused(tmp_path):
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(CheckpointError, match="not an adapter of the package peft: expected adapter_config.json and"):
        peft_adapter.open(tmp_path)
    with pytest.raises(ConfigError, match="no such adapter: expected a folder with adapter_config.json"):
        peft_adapter.open(tmp_path / "missing")


def test_scales_of_rank_stabilized_adapters(tmp_path):
    folder = write_adapter(tmp_path / "adapter", "bert")
    setting(use_rslora=True)(folder)
    assert peft_adapter.open(folder).alpha == pytest.approx(3 * 2**0.5)
