"""Numbers and label sets as targets, from a file to predictions of an export, by the command line."""

import contextlib
import json

import numpy as np
import pytest

from tfattn import files
from tfattn.evaluation.new_rows import evaluate_rows

GRADES = """\
name: grades
data:
  source: {name: jsonl, path: texts.jsonl, fields: {text_a: one, text_b: two, target: grade, label: grade}}
  preprocessing: {name: wordpiece, vocabulary: train, vocabulary_size: 60, max_length: 16, fields: [text_a, text_b]}
  batching: {batch_size: 32}
  split: {validation: 0.2, test: 0.2, calibration: 0.2}
model: {name: bert, hidden_dim: 8, num_layers: 1, num_heads: 2, intermediate_dim: 16, max_sequence_length: 16}
task: {name: regression, encoder: frozen}
calibration: {coverage: 0.8}
training: {epochs: 2, optimizer: {name: adamw, learning_rate: 1e-2}}
runtime: {precision: float32}
"""
TAGS = """\
name: tags
data:
  source: {name: csv, path: rows.csv, fields: {labels: tags}}
  preprocessing: {name: table, numeric: [age, size]}
  batching: {batch_size: 32}
  split: {validation: 0.2, test: 0.2}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: multi_label_classification}
calibration: {temperature: true, threshold: f1}
training: {epochs: 3, optimizer: {name: adamw, learning_rate: 1e-2}}
ensemble: {seeds: 2}
runtime: {precision: float32}
"""
DRAW = np.random.default_rng(0)
ROWS = DRAW.normal([40, 0], [10, 1], (120, 2))
WORDS = DRAW.choice(["good", "bad", "so"], (120, 2, 3))


def texts():
    for one, two in WORDS:
        grade = 10 + 2 * int(np.sum([one == "good", two == "good"]))
        yield json.dumps({"one": " ".join(one), "two": " ".join(two), "grade": grade}) + "\n"


def table():
    for age, size in ROWS:
        tags = [name for name, has in (("old, at least", age > 40), ("big", size > 0)) if has]
        yield f'{age:.2f},{size:.3f},"{"|".join(tags)}"\n'


def write(folder):
    (folder / "texts.jsonl").write_text("".join(texts()))
    (folder / "rows.csv").write_text("".join(["age,size,tags\n", *table()]))
    (folder / "grades.yaml").write_text(GRADES)
    (folder / "tags.yaml").write_text(TAGS)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, command):
    folder = tmp_path_factory.mktemp("targets")
    write(folder)
    with contextlib.chdir(folder):
        answers = [command("run", pipeline) for pipeline in ("grades.yaml", "tags.yaml")]
    assert [answer.status for answer in answers] == [0, 0], "\n".join(answer.errors for answer in answers)
    return folder


@pytest.fixture
def inside(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained


def test_a_number_is_predicted_in_the_unit_of_the_file(inside, command):
    metrics = files.read_json(inside / "runs/grades/latest/metrics.json")
    assert {"mean_absolute_error", "r2", "pearson", "spearman", "baseline_mean_absolute_error"} <= metrics.keys()
    assert {"trained_baseline_mean_absolute_error", "better_than_trained_baseline_low"} <= metrics.keys()
    answer = command("predict", "grades", "--input", "texts.jsonl")
    predicted = [json.loads(line)["prediction"] for line in answer.output.splitlines()]
    assert len(predicted) == 120 and 10 <= np.mean(predicted) <= 18
    (prepared,) = (inside / "runs/grades/prepared").glob("[0-9a-f]*")
    assert files.read_manifest(prepared)["targets"]["low"] == 10


def test_an_ensemble_predicts_any_number_of_labels(inside, command):
    metrics = files.read_json(inside / "runs/tags/latest/metrics.json")
    assert {"micro_f1", "subset_accuracy", "hamming_loss", "f1/big", "importance/age"} <= metrics.keys()
    assert {"subset_accuracy_members_mean", "importance_agreement", "trained_baseline_micro_f1"} <= metrics.keys()
    answer = command("predict", "tags", "--input", "rows.csv")
    threshold = metrics["operating_threshold"]  # of calibrated scores, chosen on the validation rows
    assert threshold != 0.5 and metrics["temperature"] != 1.0
    assert {"calibration_error", "brier_score", "brier_score_uncalibrated", "log_loss_uncalibrated"} <= metrics.keys()
    for line in map(json.loads, answer.output.splitlines()):
        assert line["labels"] == [label for label, score in line["scores"].items() if score >= threshold]
        assert list(line["scores"]) == ["big", "old, at least"]
    (version,) = (inside / "saved_models/tags").glob("[0-9]*")
    assert files.read_json(version / "assets.extra/parity.json")["label_agreement"] == 1.0
    assert files.read_json(version / "assets.extra/card.json")["threshold"] == threshold


def test_the_intervals_of_the_export_are_those_of_the_report(inside, command):
    run = inside / "runs/grades/latest"
    fitted, metrics = (files.read_json(run / name) for name in ("calibrator.json", "metrics.json"))
    assert (fitted["split"], fitted["rows"], fitted["coverage"]) == ("calibration", 24, 0.8)
    lines = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    answer = command("predict", "grades", "--input", run / "predictions.jsonl")
    for line, served in zip(lines, map(json.loads, answer.output.splitlines()), strict=True):
        ends = served["interval_low"], served["interval_high"]
        assert ends == pytest.approx((line["interval_low"], line["interval_high"]), abs=1e-4)
        assert ends[1] - ends[0] == pytest.approx(2 * fitted["radius"], abs=1e-4)
    covered = [line["interval_low"] <= float(line["target"]) <= line["interval_high"] for line in lines]
    assert metrics["coverage"] == pytest.approx(np.mean(covered)) and metrics["requested_coverage"] == 0.8


@pytest.mark.parametrize("name", ["grades", "tags"])
def test_the_export_has_the_metrics_of_the_run_on_the_same_rows(inside, tmp_path, name):
    run = inside / f"runs/{name}/latest"
    found = evaluate_rows(name, run / "predictions.jsonl", output=tmp_path).metrics
    expected = files.read_json(run / "metrics.json")
    shared = found.keys() & expected.keys()
    assert {"mean_absolute_error", "r2_low", "spearman"} <= shared or {
        "micro_f1",
        "log_loss",
        "importance/age",
    } <= shared
    for one in shared:  # the importance for a run is of the mean of calibrated members
        assert found[one] == pytest.approx(expected[one], abs=0.02 if one.startswith("importance") else 1e-3), one


@pytest.mark.parametrize(
    ("pipeline", "file", "line", "bad", "message"),
    [
        ("grades.yaml", "texts.jsonl", 3, '{"one": "a", "two": "b", "grade": "ten"}', "the target is no finite number"),
        ("grades.yaml", "texts.jsonl", 3, '{"one": "a", "two": "b", "grade": [1]}', "the value of `target` is nested"),
        ("tags.yaml", "rows.csv", 5, "40,1,bigger", "a label that no training row has: expected some of big, old"),
    ],
)
def test_an_invalid_target_is_located(tmp_path, monkeypatch, command, pipeline, file, line, bad, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    lines = (tmp_path / file).read_text().splitlines()
    lines[line - 1] = bad
    (tmp_path / file).write_text("\n".join([*lines, ""]))
    (tmp_path / "apart.csv").write_text("\n".join([lines[0], bad, ""]))
    apart = "data.validation_source={name: csv, path: apart.csv, fields: {labels: tags}}"
    options = ("--set", apart) if message.startswith("a label") else ()
    if options:
        (tmp_path / file).write_text("\n".join([*lines[: line - 1], *lines[line:], ""]))
    answer = command("prepare", pipeline, *options)
    assert answer.status == 1 and message in answer.errors
    assert f"{'apart.csv:2' if options else f'{file}:{line}'}: " in answer.errors
    assert len([said for said in answer.errors.splitlines() if said.startswith("error")]) == 1
