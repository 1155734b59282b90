"""A published encoder other than BERT, from its folder to a served classifier."""

import json

import pytest

from tests.pretrained import tokenizer_folders
from tests.pretrained.architecture_fixtures import write_folder

PIPELINE = """\
name: leaks
data:
  source: {name: csv, path: rows.csv, fields: {text: text, label: label}}
  preprocessing: {name: pretrained_tokenizer, max_length: 24}
  batching: {batch_size: 8}
  split: {validation: 0.2}
model: {pretrained: roberta}
task: {name: classification}
training: {epochs: 1}
runtime: {precision: float32}
"""


def write_project(folder):
    (folder / "roberta").mkdir()
    write_folder("roberta", folder / "roberta", 280)
    tokenizer_folders.roberta(folder / "roberta")
    rows = "\n".join(f"the {name} number {number},{name}" for number in range(12) for name in ("cat", "leak"))
    (folder / "rows.csv").write_text(f"text,label\n{rows}\n")
    (folder / "leaks.yaml").write_text(PIPELINE)


@pytest.fixture(scope="module")
def finished(run_once):
    return run_once("published_encoders", write_project, "leaks.yaml")


def test_one_command_trains_and_exports(finished):
    folder, answer = finished
    assert answer.status == 0, answer.errors
    errors = answer.errors.replace("\n", "")
    assert "Pretrained weights from roberta: " in errors and "0 missing" in errors
    (version,) = (folder / "saved_models/leaks").iterdir()
    assets = {path.name for path in (version / "assets").iterdir()}
    assert {"tokenizer.json", "tokenizer_config.json"} <= assets


def test_the_export_predicts_rows(finished, monkeypatch, command):
    monkeypatch.chdir(finished[0])
    (finished[0] / "new.txt").write_text("the cat\nthe leak <s> [MASK]\n\n")
    answer = command("predict", "leaks", "--input", "new.txt")
    assert answer.status == 0, answer.errors
    found = [json.loads(line)["label"] for line in answer.output.splitlines()]
    assert set(found) <= {"cat", "leak"}


def test_the_export_starts_another_training(finished, monkeypatch, command):
    """The export has the tokenizer, whose vocabulary is smaller than the table of the weights."""
    monkeypatch.chdir(finished[0])
    answer = command("check", "leaks.yaml", "--set", "model.pretrained=saved_models/leaks", "--set", "name=again")
    assert answer.status == 0, answer.errors


def test_another_tokenizer_is_refused_with_the_name_of_its_own(finished, monkeypatch, command):
    monkeypatch.chdir(finished[0])
    answer = command(
        *("check", "leaks.yaml", "--deep", "--set", "data.preprocessing.name=wordpiece"),
        *("--set", "data.preprocessing.vocabulary=pretrained"),
    )
    assert answer.status == 2
    assert "the pretrained model uses other tokens: expected pretrained_tokenizer, received wordpiece" in answer.errors
