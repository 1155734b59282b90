"""A student that learns from the export of another run: cached soft labels, layers, and teachers that do not fit."""

import contextlib
import json
import shutil

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

LABELS = "{text: Description, labels: Category}"
STUDENT = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 24}


@pytest.fixture(scope="module")
def folder(finished, command, tmp_path_factory):
    """Return the folder of a run that learns from the export of another run."""
    folder = tmp_path_factory.mktemp("distilled") / "project"
    shutil.copytree(finished[0], folder, symlinks=True)
    config = yaml.safe_load((folder / "tiny.yaml").read_text())
    config |= {"name": "student", "model": {"name": "bert", **STUDENT}, "teacher": {"pretrained": "saved_models/tiny"}}
    config["data"]["preprocessing"] = {"name": "wordpiece", "vocabulary": "pretrained", "max_length": 24}
    (folder / "student.yaml").write_text(yaml.safe_dump(config))
    with contextlib.chdir(folder):
        answer = command("evaluate", "student.yaml")
    assert answer.status == 0, answer.errors
    assert "saved_models/tiny/" in answer.errors and "computed once for each record" in answer.errors
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_soft_labels_are_the_logits_of_the_teacher(folder, command):
    stored = np.load(folder / "runs/student/latest/precomputed/validation.teacher_logits.npy")
    scores = np.exp(stored) / np.exp(stored).sum(axis=1, keepdims=True)
    lines = (folder / "runs/tiny/latest/predictions.jsonl").read_text().splitlines()
    expected = [[score for _, score in sorted(json.loads(line)["scores"].items())] for line in lines]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_the_history_has_both_terms_and_the_trained_model_is_the_student_alone(folder):
    run = folder / "runs/student/latest"
    line = json.loads((run / "history.jsonl").read_text().splitlines()[-1])
    assert line["loss"] == pytest.approx(line["loss/cross_entropy"] + line["loss/soft_labels"])
    weights = load_file(max((run / "checkpoints").glob("step-*")) / "weights.safetensors")
    assert weights["bert/block_0/feed_forward/output/kernel"].shape == (16, 8)


def test_layers_are_compared_in_each_step_and_the_projection_is_for_training_alone(folder, command):
    options = ("name=layers", "teacher.hidden_states=1", "teacher.attention=1", "training.epochs=1")
    answer = command("evaluate", "student.yaml", *(word for option in options for word in ("--set", option)))
    assert answer.status == 0 and "computed in each step" in answer.errors, answer.errors
    run = folder / "runs/layers/latest"
    weights = load_file(max((run / "checkpoints").glob("step-*")) / "weights.safetensors")
    assert weights["training_only/projection/kernel"].shape == (8, 16)
    line = json.loads((run / "history.jsonl").read_text().splitlines()[-1])
    assert {"loss/hidden_states", "loss/attention_relations", "validation_loss/hidden_states"} <= set(line)
    assert not (run / "precomputed").exists()


def test_another_teacher_is_another_run(folder, command):
    answer = command("show", "student.yaml", "--set", "teacher.temperature=3")
    assert yaml.safe_load(answer.output)["teacher"] == {
        "pretrained": "saved_models/tiny",
        "soft_labels": 0.5,
        "temperature": 3,
        "hidden_states": 0.0,
        "attention": 0.0,
    }
    before = set((folder / "runs/student").glob("*/checkpoints"))
    options = ("teacher.temperature=3", "training.epochs=1")
    assert command("train", "student.yaml", *(w for o in options for w in ("--set", o))).status == 0
    assert len(set((folder / "runs/student").glob("*/checkpoints")) - before) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["teacher.pretrained=missing"], "there is no such model"),
        (["teacher.soft_labels=0"], "nothing is learned from the teacher"),
        (["task.encoder=frozen"], "the encoder is frozen, and cannot learn"),
        (
            ["task={name: multi_label_classification}", f"data.source.fields={LABELS}"],
            "a model of this task cannot learn from a teacher",
        ),
        (
            ["task={name: masked_lm}", "data.source.fields={text: Description}"],
            "the teacher has another task: expected",
        ),
        (["data.preprocessing={name: wordpiece, vocabulary: train, max_length: 24}"], "has another vocabulary"),
        (["data.targets.labels=[Leak, Electronic Failure, Mechanical Failure, Software Failure]"], "has other labels"),
        (["model.num_heads=4", "teacher.attention=1"], "the teacher has another number of heads: expected 4"),
    ],
)
def test_a_teacher_that_does_not_fit_has_one_message(command, options, message):
    words = [word for option in [*options, "name=unfit"] for word in ("--set", option)]
    answer = command("train", "student.yaml", *words)
    assert answer.status and message in " ".join(answer.errors.split()), answer.errors
