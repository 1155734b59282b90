"""Trained baselines: they learn each kind of input and target, and are compared with a model row by row."""

import json

import numpy as np
import pytest

from tfattn import stages
from tfattn.evaluation.baseline import MEASURES, compare
from tfattn.runs.data import build_data
from tfattn.trained.predictions import SplitPredictions

PIPELINE = """\
name: tiny
data:
  source: {name: jsonl, path: rows.jsonl, fields: FIELDS}
  preprocessing: PREPROCESSING
  batching: {batch_size: 8}
  split: {validation: 0.4}
model: {name: MODEL, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: TASK}
runtime: {precision: float32}
"""
WORDS = {
    "PREPROCESSING": "{name: wordpiece, vocabulary: train, vocabulary_size: 100, max_length: 24}",
    "MODEL": "modern_bert, intermediate_dim: 8",
}
PAIRS = WORDS["PREPROCESSING"].replace("}", ", fields: [text_a, text_b]}")
TABLE = {"PREPROCESSING": "{name: table, numeric: [age], categorical: [job]}", "MODEL": "feature_tokenizer_transformer"}
PAIR = "{text_a: a, text_b: b, label: kind}"
CASES = {
    "text": {**WORDS, "FIELDS": "{text: a, label: kind}", "TASK": "classification"},
    "chinese": {**WORDS, "FIELDS": "{text: chinese, label: kind}", "TASK": "classification"},
    "pair": {**WORDS, "PREPROCESSING": PAIRS, "FIELDS": PAIR, "TASK": "classification"},
    "number": {**WORDS, "FIELDS": "{text: a, target: amount}", "TASK": "regression"},
    "labels": {**WORDS, "FIELDS": "{text: a, labels: kinds}", "TASK": "multi_label_classification"},
    "table": {**TABLE, "FIELDS": "{label: kind}", "TASK": "classification"},
    "table number": {**TABLE, "FIELDS": "{target: amount}", "TASK": "regression"},
    "table labels": {**TABLE, "FIELDS": "{labels: kinds}", "TASK": "multi_label_classification"},
}


def write_rows():
    with open("rows.jsonl", "w") as file:
        for number in range(150):
            kind = number % 3
            row = {
                "a": f"{['oil', 'dust', 'fire'][kind]} in the hall {number}",
                "b": f"{['oil', 'dust', 'fire'][kind]} here",
                "chinese": f"{'漏油灰尘火灾'[2 * kind : 2 * kind + 2]}在大厅里{number}",
                "age": "" if number % 11 == 0 else str(20 * kind + number % 5),
                "job": "" if number % 7 == 0 else "abc"[kind],
                "kind": f"k{kind}",
                "kinds": ["x"] * (kind > 0) + ["y"] * (kind > 1),
                "amount": str(10 * kind + number % 2),
            }
            file.write(json.dumps(row) + "\n")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that opens a run with prepared data."""
    monkeypatch.chdir(tmp_path)
    write_rows()

    def opened(case):
        text = PIPELINE
        for word, value in CASES[case].items():
            text = text.replace(word, value)
        (tmp_path / "tiny.yaml").write_text(text)
        run = stages.open_run(tmp_path / "tiny.yaml", None)
        stages.run(run, "prepare")
        return run

    return opened


def predicted(run, change=lambda values: values):
    """Return the predictions of a perfect model, with a change."""
    (member,) = run.members
    data = build_data(run.config)
    measure = MEASURES[type(data.targets)]
    data.targets.use(member.facts["targets"])
    rows = member.rows("validation")
    fields = [type("Row", (), {"fields": row, "where": row["row"]}) for row in rows]
    true = np.array([data.targets.encode(row)[measure.target] for row in fields])
    return SplitPredictions(
        split="validation",
        rows=rows,
        values={measure.prediction: change(true)},
        targets={measure.target: true},
        leaked=np.zeros(len(rows), bool),
    )


@pytest.mark.parametrize("case", CASES)
def test_a_baseline_learns_and_a_model_of_chance_is_worse(run, case):
    opened = run(case)
    found = compare(opened, predicted(opened, change=lambda values: np.roll(values, 1, axis=0)))
    assert found.baseline < 4 if found.metric == "mean_absolute_error" else found.baseline > 0.8
    assert found.high < 0 and "The model is worse: the difference is -" in found.sentence
    assert found.training_rows == opened.members[0].facts["splits"]["train"]["rows"]
    assert found.metrics[f"trained_baseline_{found.metric}"] == found.baseline
    assert ("characters" in found.name) == (case == "chinese")


def test_equal_models_are_not_better(run):
    opened = run("table")
    found = compare(opened, predicted(opened))
    assert found.baseline == 1 and found.difference == found.low == found.high == 0
    assert "not better" in found.sentence


def test_a_perfect_model_is_better_than_a_baseline_without_the_input(run, monkeypatch):
    monkeypatch.setitem(CASES, "blind", {**CASES["number"], "FIELDS": "{text: age, target: amount}"})
    opened = run("blind")
    found = compare(opened, predicted(opened))
    assert found.low > 0 and "The model is better" in found.sentence


def test_a_failure_is_a_note(run, tmp_path, capsys):
    opened = run("text")
    perfect = predicted(opened)
    (tmp_path / "rows.jsonl").unlink()
    assert compare(opened, perfect) is None
    assert "note: the evaluation has no trained baseline: DataError: rows.jsonl" in capsys.readouterr().err
