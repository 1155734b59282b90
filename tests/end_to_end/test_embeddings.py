"""Text embeddings from a table of pairs to an index, by the command line."""

import contextlib
import random

import pytest

from tfattn import files

THINGS = ["ball", "car", "dog", "tree", "boat", "cat", "door", "egg"]
PIPELINE = """\
name: things
data:
  source: {name: csv, path: train.csv, fields: {anchor: question, positive: answer, target: score}}
  examples: {prompts: {anchor: "q "}}
  preprocessing: {name: wordpiece, vocabulary: train, vocabulary_size: 80, max_length: 16}
  batching: {batch_size: 16}
  split: {validation: 0.2}
model: {name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32, max_sequence_length: 16}
task: {name: embedding, dimensions: [16, 4]}
training: {epochs: 2, accumulation: 2, optimizer: {name: adamw, learning_rate: 5e-3}}
runtime: {precision: float32}
"""


def write(folder, rows=120, extra=()):
    """Questions about two things, with answers that speak of both, and a score of 0 or 1."""
    draw = random.Random(1)
    lines = ["question,answer,score"]
    for number in range(rows):
        first, second, third = draw.sample(THINGS, 3)
        is_right = number % 2
        lines.append(f"where is the {first} {number},a {first if is_right else third} and a {second},{is_right}")
    (folder / "train.csv").write_text("".join(f"{line}\n" for line in [*lines, *extra]))
    (folder / "things.yaml").write_text(PIPELINE)


@pytest.mark.slow
def test_pairs_become_an_index(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    answer = command("run", "things.yaml")
    assert answer.status == 0, answer.errors
    metrics = files.read_json(tmp_path / "runs/things/latest/metrics.json")
    assert {"recall_at_10", "mrr_at_10", "ndcg_at_10_low", "baseline_ndcg_at_10", "recall_at_1/4"} <= metrics.keys()
    card = files.read_json(next(tmp_path.glob("saved_models/things/*/assets.extra/card.json")))
    assert card["prompts"] == {"anchor": "q ", "positive": ""} and card["dimensions"] == 16
    answer = command("index", "things", "train.csv", "--column", "answer", "--dimensions", "4", "--output", "answers")
    assert answer.status == 0 and "120 texts of 4 dimensions" in answer.errors
    answer = command("search", "answers", "where is the dog", "--k", "3")
    assert answer.status == 0 and len(answer.output.splitlines()) == 3
    answer = command("run", "things.yaml", "--set", "data.targets.scored=true", "--set", "task.loss=cosent")
    assert answer.status == 0, answer.errors
    assert {"spearman", "pearson_low", "baseline_spearman", "spearman/4"} <= files.read_json(
        tmp_path / "runs/things/latest/metrics.json"
    ).keys()
    refused = command("search", "answers", "where is the dog", "--encoder", "things")
    assert refused.status == 1 and "the index was made by another encoder" in refused.errors


def test_pairs_with_an_empty_side_are_dropped_and_counted(tmp_path, command):
    with contextlib.chdir(tmp_path):
        write(tmp_path, 20, ["where,,1", ",a ball,0", "  ,a cat,1"])
        answer = command("prepare", "things.yaml")
        assert answer.status == 0, answer.errors
        (summary,) = tmp_path.glob("runs/**/summary.json")
        missing = files.read_json(summary)["missing"]
    assert missing["positive"] == {"rows": 1, "first": ["train.csv:22"]}
    assert missing["anchor"]["rows"] == 2 and missing["anchor"]["first"] == ["train.csv:23", "train.csv:24"]


def test_equal_scores_are_refused(tmp_path, command):
    with contextlib.chdir(tmp_path):
        write(tmp_path, 0, [f"where is {thing},a {thing},4" for thing in THINGS])
        answer = command("prepare", "things.yaml", "--set", "data.targets.scored=true")
    assert answer.status == 1 and "there is nothing to predict" in answer.errors and "times 4" in answer.errors
