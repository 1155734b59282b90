"""A model with an adapter by the command line: training, export and its weights, and a start from a saved adapter."""

import contextlib
import json
import shutil

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

ADAPTER = "{name: lora, rank: 4, targets: [query, value, feed_forward], dropout: 0.05}"


@pytest.fixture(scope="module")
def adapted(finished, command, tmp_path_factory):
    """Return the folder of a run that adapts the export of another run, and the output of the command."""
    folder = tmp_path_factory.mktemp("adapted") / "project"
    shutil.copytree(finished[0], folder, symlinks=True)
    config = yaml.safe_load((folder / "tiny.yaml").read_text())
    config["name"] = "adapted"
    config["model"] = {"pretrained": "saved_models/tiny", "adapter": yaml.safe_load(ADAPTER)}
    config["data"]["preprocessing"] = {"name": "wordpiece", "vocabulary": "pretrained", "max_length": 24}
    config["task"]["pooling"] = "pooler"
    (folder / "adapted.yaml").write_text(yaml.safe_dump(config))
    with contextlib.chdir(folder):
        answer = command("run", "adapted.yaml")
    assert answer.status == 0, answer.errors
    return folder, answer


@pytest.fixture(autouse=True)
def inside(adapted, monkeypatch):
    monkeypatch.chdir(adapted[0])


def test_the_adapter_is_saved_alone_and_its_costs_are_printed(adapted):
    folder, answer = adapted
    saved = folder / "runs/adapted/latest/adapter"
    config = json.loads((saved / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"], config["task_type"]) == (4, 16.0, "SEQ_CLS")
    assert config["base_model_name_or_path"] == "saved_models/tiny"
    names = set(load_file(saved / "adapter_model.safetensors"))
    prefix = "base_model.model.bert.encoder.layer.0"
    assert {f"{prefix}.attention.self.query.lora_A.weight", f"{prefix}.output.dense.lora_B.weight"} <= names
    assert {"base_model.model.classifier.weight", "base_model.model.bert.pooler.dense.weight"} <= names
    assert "weights trained (" in answer.errors and "Memory of gradients and optimizer: " in answer.errors
    assert "a checkpoint: " in answer.errors


def test_frozen_weights_have_no_slots_and_are_stored_once(adapted):
    checkpoints = adapted[0] / "runs/adapted/latest/checkpoints"
    newest = max(checkpoints.glob("step-*"))
    trained, slots = (load_file(newest / f"{name}.safetensors") for name in ("weights", "slots"))
    heads = ("head/", "bert/pooler/")
    assert all("/lora/" in name or name.startswith(heads) or "head/" in name for name in trained)
    assert len(slots) == 2 * len(trained)
    assert not any("lora" in name for name in load_file(checkpoints / "frozen/weights.safetensors"))


def test_the_export_is_merged_and_can_be_the_base_of_another_run(adapted):
    (version,) = (adapted[0] / "saved_models/adapted").glob("[0-9]*")
    paths = json.loads((version / "assets.extra/weights.json").read_text())["weights"]
    assert not any("lora" in path for path in paths)
    parity = json.loads((version / "assets.extra/parity.json").read_text())
    assert parity["label_agreement"] == 1.0


def test_an_unmerged_export_predicts_the_same_and_is_refused_as_a_base(command):
    before = command("predict", "adapted", "--input", "reports.csv").output
    unmerged = ("--set", "export.merge_adapter=false", "--set", "export.folder=unmerged")
    answer = command("export", "adapted.yaml", *unmerged)
    assert answer.status == 0, answer.errors
    after = command("predict", "unmerged/adapted", "--input", "reports.csv").output
    first, second = ([json.loads(line)["score"] for line in text.splitlines()] for text in (before, after))
    np.testing.assert_allclose(first, second, atol=1e-4)
    answer = command("check", "adapted.yaml", "--set", "model.pretrained=unmerged/adapted")
    assert answer.status == 0 or "not merged" in answer.errors
    answer = command("train", "adapted.yaml", "--set", "model.pretrained=unmerged/adapted", "--set", "name=other")
    assert "the adapter of the export is not merged" in answer.errors


def test_a_run_starts_from_a_saved_adapter(adapted, command):
    saved = (adapted[0] / "runs/adapted/latest/adapter").resolve()
    answer = command("show", "adapted.yaml", "--set", f"model.adapter={{from: {saved}}}")
    assert yaml.safe_load(answer.output)["model"]["adapter"] == {
        "name": "lora",
        "rank": 4,
        "alpha": 16.0,
        "targets": ["query", "value", "intermediate", "feed_forward_output"],
        "dropout": 0.05,
        "from": str(saved),
    }
    options = ("--set", f"model.adapter={{from: {saved}}}", "--set", "name=further", "--set", "training.epochs=1")
    answer = command("train", "adapted.yaml", *options)
    assert answer.status == 0 and "4 modules of rank 4" in answer.errors, answer.errors
    answer = command("check", "adapted.yaml", "--set", f"model.adapter={{from: {saved}, rank: 8}}")
    assert "the trained adapter has another value" in answer.errors and "expected 4, the value of" in answer.errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("model.adapter.rank=0",), r"model.adapter.rank: wrong value"),
        (("model.adapter.targets=[quary]",), "model.adapter.targets: the target of the adapter matches nothing"),
        (("model.adapter.targets=[]",), "model.adapter.targets: wrong value"),
        (("model.adapter={name: lorra}",), "lora"),
        (("model.adapter={from: missing}",), "no such adapter"),
        (("task.encoder=frozen",), "an adapter trains the encoder, which is frozen"),
    ],
)
def test_bad_settings_have_one_message(command, options, message):
    answer = command("check", "--deep", "adapted.yaml", *(word for option in options for word in ("--set", option)))
    assert answer.status and message in answer.errors, answer.errors


def test_an_adapter_needs_weights_to_adapt(command):
    answer = command("check", "--deep", "tiny.yaml", "--set", "model.adapter={name: lora}")
    assert "an adapter changes pretrained weights, and there are none" in answer.errors
    assert "expected `model.pretrained`" in answer.errors
