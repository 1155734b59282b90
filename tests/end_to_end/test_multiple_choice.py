"""Multiple choice from a table with a column per ending to an export, by the command line."""

import contextlib
import json
import random

import pytest

from tfattn import files

THINGS = ["ball", "car", "dog", "tree"]
FIELDS = "{context: sent1, choices: [[sent2, ending0], [sent2, ending1], [sent2, ending2]], label: label}"
PIPELINE = f"""\
name: endings
data:
  source: {{name: csv, path: train.csv, fields: {FIELDS}}}
  preprocessing: {{name: wordpiece, vocabulary: train, vocabulary_size: 60, max_length: 16, fields: [context, choices]}}
  batching: {{max_tokens: 1024}}
  split: {{validation: 0.2}}
model: {{name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32, max_sequence_length: 16}}
task: {{name: multiple_choice}}
training: {{epochs: 2, optimizer: {{name: adamw, learning_rate: 5e-3}}}}
ensemble: {{seeds: 2}}
runtime: {{precision: float32}}
"""


def table(rows=120):
    """The right ending says again what the context speaks of; some rows have two endings."""
    draw = random.Random(1)
    yield "sent1,sent2,ending0,ending1,ending2,label"
    for number in range(rows):
        endings = draw.sample(THINGS, 3 - (number % 5 == 0))
        label = draw.randrange(len(endings))
        yield ",".join([f"a {endings[label]} {number}", "he", *(endings + [""])[:3], str(label)])


def write(folder, lines):
    (folder / "train.csv").write_text("".join(f"{line}\n" for line in lines))
    (folder / "endings.yaml").write_text(PIPELINE)


@pytest.mark.slow
def test_an_ensemble_chooses_an_ending(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, table())
    answer = command("run", "endings.yaml")
    assert answer.status == 0, answer.errors
    metrics = files.read_json(tmp_path / "runs/endings/latest/metrics.json")
    assert {"accuracy", "accuracy_low", "baseline_accuracy", "chance_accuracy"} <= metrics.keys()
    assert "Accuracy by number of choices" in (tmp_path / "runs/endings/latest/report.html").read_text()
    answer = command("predict", "endings", "--input", "train.csv")
    for line in map(json.loads, answer.output.splitlines()):
        assert line["choice"] == line["choices"][line["label_id"]] and line["choice"].startswith("he ")
        assert sum(line["scores"]) == pytest.approx(1, abs=1e-4) and len(line["scores"]) >= len(line["choices"])
    rows = [{"sent1": "a ball", "choices": ["he ball", "he car", "he dog", "he tree"]}, {"sent1": "a", "choices": []}]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer = command("predict", "endings", "--input", "new.jsonl")
    first, second = map(json.loads, answer.output.splitlines())
    assert len(first["scores"]) == 4 and "new.jsonl:2" in second["error"] and "a row has no choice" in second["error"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,he,ball,car,dog,3", "the label is not the number of a choice: expected 0 to 2"),
        ("a,he,ball,,dog,0", "choice 1 of 3 is empty"),
        ("a,he,ball,,,0", "there is nothing to choose from"),
        ("a,he,ball,car,dog", "the row is ragged"),
    ],
)
def test_an_invalid_row_is_located(tmp_path, command, line, message):
    with contextlib.chdir(tmp_path):
        write(tmp_path, [*list(table(10)), line])
        answer = command("prepare", "endings.yaml")
    assert answer.status == 1 and f"train.csv:12: {message}" in answer.errors
