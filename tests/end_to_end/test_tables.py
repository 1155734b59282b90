"""From a table to an export of several models, by the command line; errors of tables."""

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from tfattn import files
from tfattn.data.preparation.prepare import read_facts
from tfattn.data.sources.raw_rows import read_rows
from tfattn.evaluation.new_rows import evaluate_rows
from tfattn.serving.page import card

PIPELINE = """\
name: tiny
seed: 7
data:
  source:
    name: csv
    path: flags.tsv
    fields:
      {label: PN_flag, sample: Sample, panel: Panel, dilution: Dilution, id: Locus, Score_BG: "Score BG"}
  targets: {labels: ["0", "1"]}
  split: {validation: 0.2, calibration: 0.2, group: sample, hold_out: {panel: [LODC]}}
  preprocessing:
    name: table
    numeric: [Expected_Frequency, Observed_Frequency, Supporting_Reads, Score_BG, Score_Mapping]
    caps: {Score_BG: 5000, Score_Mapping: 5000}
    scaling: quantile
    bins: 8
  batching: {batch_size: 64}
model:
  name: feature_tokenizer_transformer
  hidden_dim: 8
  num_layers: 1
  num_heads: 2
  numeric_embedding: piecewise_linear
task: {name: classification, positive: "1", specificity: 0.9}
calibration: {temperature: true, coverage: 0.8}
training: {epochs: 2, optimizer: {name: adamw, learning_rate: 1e-2}}
ensemble: {seeds: 2}
runtime: {precision: float32}
"""
FOLDS = ("--set", "ensemble={folds: 2}", "--set", "data.split.hold_out=null", "--set", "calibration=null")


def write_project(folder, command):
    """Writes the sample, one of its columns under a name that no input can have, and the pipeline."""
    assert command("sample", "pn_flag", folder / "flags.tsv").status == 0
    table = (folder / "flags.tsv").read_text().replace("Score_BG_Polishing", "Score BG", 1)
    (folder / "flags.tsv").write_text(table)
    (folder / "tiny.yaml").write_text(PIPELINE)


@pytest.fixture(scope="module")
def finished(run_once, command):
    """A folder in which the whole pipeline has run; with what the command said."""
    return run_once("table", lambda folder: write_project(folder, command), "tiny.yaml")


@pytest.fixture
def inside(finished, monkeypatch):
    monkeypatch.chdir(finished[0])


@pytest.fixture
def project(tmp_path, monkeypatch, command):
    """A fresh folder, entered."""
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, command)


def table_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


# A run.


def test_a_run_writes_all_outputs(finished, inside):
    answer = finished[1]
    assert answer.status == 0, answer.errors
    latest = Path("runs/tiny/latest")
    kept = {"config.yaml", "metrics.json", "predictions.jsonl", "results.tsv", "report.html", "plots", "members"}
    assert kept | {"operating_point.json"} <= set(os.listdir(latest))
    assert len(list((latest / "members").glob("*/checkpoints"))) == 2
    metrics = files.read_json(latest / "metrics.json")
    shares = {"accuracy", "sensitivity", "specificity", "roc_auc"}
    assert {f"{name}{end}" for name in shares for end in ("", "_low", "_high")} <= metrics.keys()
    assert metrics["operating_threshold"] == files.read_json(latest / "operating_point.json")["threshold"]
    assert {"importance/Score_BG", "importance_agreement"} <= metrics.keys()
    assert metrics["accuracy_members_min"] <= metrics["accuracy_members_mean"] <= metrics["accuracy_members_max"]
    report = (latest / "report.html").read_text()
    assert "Trained baseline: " in report and "Trained baseline: " in answer.errors
    assert "Score_BG" in report and "2 models were trained. The ensemble predicts their mean" in report
    assert list((latest / "plots").glob("*.svg"))


def test_a_line_of_results_per_test_row(finished, inside):
    tests = [row for row in table_of("flags.tsv") if row["Panel"] == "LODC"]
    results = table_of("runs/tiny/latest/results.tsv")
    assert len(results) == len(tests) == 200
    # In the order of the records, so by locus and sample here.
    known = {(row["Sample"], row["Locus"], row["Dilution"]): row["PN_flag"] for row in tests}
    metrics = files.read_json("runs/tiny/latest/metrics.json")
    for row in results:
        assert {"sample", "panel", "dilution", "id", "target", "predicted", "right", "probability"} <= row.keys()
        assert row["target"] == known[row["sample"], row["id"], row["dilution"]]
        assert row["right"] == ("TRUE" if row["target"] == row["predicted"] else "FALSE")
        assert (float(row["probability"]) >= metrics["operating_threshold"] - 1e-6) == (row["predicted"] == "1")
    assert sum(row["right"] == "TRUE" for row in results) / 200 == pytest.approx(metrics["accuracy"])


def test_a_second_run_skips_finished_stages(inside, command):
    before = sorted(map(str, Path().rglob("*")))
    answer = command("run", "tiny.yaml")
    assert answer.status == 0 and "nothing has changed, skipped" in answer.errors
    assert sorted(map(str, Path().rglob("*"))) == before


def test_the_export_predicts_the_training_file(inside, command):
    (version,) = Path("saved_models/tiny").glob("[0-9]*")
    assert files.read_json(version / "assets.extra/parity.json")["label_agreement"] == 1.0
    source = files.read_json(version / "assets.extra/source.json")
    assert (source["columns"]["Score_BG"], source["id"], source["targets"]) == (
        "Score BG",
        "Locus",
        {"label": "PN_flag"},
    )
    answer = command("predict", "tiny", "--input", "flags.tsv", "--output", "answers.jsonl")
    assert answer.status == 0, answer.errors
    lines = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    rows = table_of("flags.tsv")
    assert len(lines) == len(rows) == 1140
    results = {(row["sample"], row["id"], row["dilution"]): row for row in table_of("runs/tiny/latest/results.tsv")}
    for line, row in zip(lines, rows, strict=True):
        assert line["Score_BG"] == row["Score BG"] and line["id"] == row["Locus"]
        if row["Panel"] == "LODC":
            told = results[row["Sample"], row["Locus"], row["Dilution"]]
            assert line["label"] == told["predicted"]
            assert line["probability"] == pytest.approx(float(told["probability"]), abs=1e-5)


def test_the_export_has_the_metrics_of_the_run_on_the_same_rows(inside, tmp_path):
    expected = files.read_json("runs/tiny/latest/metrics.json")
    found = evaluate_rows("tiny", "runs/tiny/latest/predictions.jsonl", output=tmp_path)
    shared = found.metrics.keys() & expected.keys()
    assert {"accuracy", "sensitivity_low", "roc_auc", "operating_threshold", "importance/Score_BG"} <= shared
    for name in shared:  # the importance for an export is computed from fewer permuted rows
        tolerance = 0.01 if name.startswith("importance") else 1e-3
        assert found.metrics[name] == pytest.approx(expected[name], abs=tolerance), name
    assert all("id" in line for line in found.predictions)
    assert {one.name for one in found.drift} >= {"Score_BG", "Supporting_Reads"}


def test_the_export_equals_the_evaluation(inside):
    (version,) = Path("saved_models/tiny").glob("[0-9]*")
    told = card.read(version)
    metrics = files.read_json("runs/tiny/latest/metrics.json")
    assert told.measured_on == "test" and told.metrics.items() <= metrics.items()
    assert {"accuracy", "accuracy_low", "sensitivity", "roc_auc_high"} <= told.metrics.keys()
    assert (told.positive, told.threshold) == ("1", metrics["operating_threshold"])
    assert told.inputs["Score_BG"].column == "Score BG"


def test_the_sets_of_the_export_are_those_of_the_report(inside, command):
    run = Path("runs/tiny/latest")
    fitted, metrics = files.read_json(run / "calibrator.json"), files.read_json(run / "metrics.json")
    assert fitted["split"] == files.read_json(run / "operating_point.json")["split"] == "calibration"
    assert fitted["temperature"] == metrics["temperature"] > 0
    lines = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    answer = command("predict", "tiny", "--input", run / "predictions.jsonl")
    served = [json.loads(line) for line in answer.output.splitlines()]
    assert [line["prediction_set"] for line in served] == [line["prediction_set"] for line in lines]
    threshold = min(fitted["score_thresholds"])
    for line in served:
        inside_set = {label for label, score in line["scores"].items() if score >= threshold}
        assert inside_set == set(line["prediction_set"])
    covered = [line["target"] in line["prediction_set"] for line in lines]
    assert metrics["coverage"] == pytest.approx(sum(covered) / 200)
    assert metrics["set_size"] == pytest.approx(sum(len(line["prediction_set"]) for line in lines) / 200)
    (version,) = Path("saved_models/tiny").glob("[0-9]*")
    assert card.read(version).coverage == 0.8
    report = (run / "report.html").read_text()
    assert "Prediction sets" in report and "Temperature scaling" in report
    assert {"reliability_before.svg", "reliability_after.svg"} <= set(os.listdir(run / "plots"))


def test_no_calibration_row_trains_or_measures(inside):
    (prepared,) = Path("runs/tiny/prepared").glob("[0-9a-f]*")
    rows = {
        split: {row["row"] for row in read_rows(prepared, split)} for split in ("calibration", "validation", "test")
    }
    measured = {json.loads(line)["row"] for line in Path("runs/tiny/latest/predictions.jsonl").read_text().splitlines()}
    assert measured == rows["test"] and not rows["calibration"] & (rows["test"] | rows["validation"])
    counts = {name: split["rows"] for name, split in read_facts(prepared)["splits"].items()}
    assert (
        counts["calibration"] == len(rows["calibration"]) == files.read_json("runs/tiny/latest/calibrator.json")["rows"]
    )
    assert sum(counts.values()) == 1140  # every row is in one split


def test_another_coverage_does_not_train_again(finished, tmp_path, command, monkeypatch):
    shutil.copytree(finished[0], tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path / "copy")
    before = files.read_json("runs/tiny/latest/calibrator.json")
    options = ("calibration.coverage=0.5", "evaluation.baseline=false", "export.formats=[saved_model, litert]")
    answer = command("run", "tiny.yaml", *(word for option in options for word in ("--set", option)))
    assert answer.status == 0, answer.errors
    assert "train: nothing has changed" in answer.errors and "prepare: nothing has changed" in answer.errors
    after = files.read_json("runs/tiny/latest/calibrator.json")
    assert after["temperature"] == before["temperature"]  # the same rows, the same temperature
    assert after["score_thresholds"][0] > before["score_thresholds"][0]
    assert len(list(Path("saved_models/tiny").glob("[0-9]*"))) == 2
    # LiteRT computes the networks; temperature and sets follow in the graph.
    served = {}
    for engine in ("tensorflow", "litert"):
        answer = command("predict", "tiny", "--input", "runs/tiny/latest/predictions.jsonl", "--engine", engine)
        served[engine] = [json.loads(line) for line in answer.output.splitlines()]
    scores, sets = (
        {engine: np.array([of(line) for line in lines]) for engine, lines in served.items()}
        for of in (lambda line: [*line["scores"].values()], lambda line: ", ".join(line["prediction_set"]))
    )
    assert np.abs(scores["tensorflow"] - scores["litert"]).max() < 0.05
    assert np.mean(sets["tensorflow"] == sets["litert"]) > 0.9
    without = command("evaluate", "tiny.yaml", "--set", "calibration=null", "--set", "evaluation.baseline=false")
    assert without.status == 0 and not Path("runs/tiny/latest/calibrator.json").exists()
    assert "coverage" not in files.read_json("runs/tiny/latest/metrics.json")


@pytest.mark.slow
def test_folds_without_test_rows_become_one_export(project, command):
    rows = Path("flags.tsv").read_text().splitlines(keepends=True)
    Path("flags.tsv").write_text("".join([rows[0], *rows[1::4]]))
    answer = command("run", "tiny.yaml", *FOLDS, "--set", "training.epochs=1")
    assert answer.status == 0, answer.errors
    (version,) = Path("saved_models/tiny").glob("[0-9]*")
    assert files.read_json(version / "assets.extra/parity.json")["label_agreement"] == 1.0
    assert len(list((version / "assets").glob("member_[01].table.json"))) == 2
    assert "trained_baseline_accuracy" in files.read_json("runs/tiny/latest/metrics.json")
    # Each row is measured once, by the model that was not trained on it.
    results = [row["row"] for row in table_of("runs/tiny/latest/results.tsv")]
    assert len(results) == len(set(results)) == 285


# What is wrong with a table.


def change(line, column, value):
    """Puts a value into a line of the table, the header being line 1."""
    lines = [row.split("\t") for row in Path("flags.tsv").read_text().splitlines()]
    place = lines[0].index(column)
    for number in range(2, len(lines) + 1) if line is None else [line]:
        lines[number - 1][place] = value
    Path("flags.tsv").write_text("".join("\t".join(cells) + "\n" for cells in lines))


def widen(line):
    lines = Path("flags.tsv").read_text().splitlines()
    lines[line - 1] += "\tmore"
    Path("flags.tsv").write_text("".join(f"{text}\n" for text in lines))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda: widen(9), ["flags.tsv:9", "expected 19 fields, received 20"]),
        (lambda: change(12, "Supporting_Reads", "many"), ["flags.tsv:12", "`Supporting_Reads`", "received 'many'"]),
        (lambda: change(1100, "Score BG", "1e999"), ["flags.tsv:1100", "`Score_BG`", "received '1e999'"]),
        (lambda: change(7, "PN_flag", "2"), ["flags.tsv:7", "label", "expected one of 0, 1, received '2'"]),
        (lambda: change(None, "Score_Mapping", "3"), ["flags.tsv", "`Score_Mapping` is constant", "`numeric`"]),
        (lambda: change(1, "Score BG", "Score_BGP"), ["flags.tsv:1", "`Score_BG`", "received 'Score BG'", "Score_BGP"]),
    ],
)
def test_an_invalid_table_is_reported(project, command, spoil, words):
    spoil()
    answer = command("run", "tiny.yaml")
    assert answer.status == 1 and "Traceback" not in answer.errors
    (message,) = [line for line in answer.errors.splitlines() if line.startswith("error: ")]
    for word in words:
        assert word in message, f"{word!r} is not in {message!r}"
    assert not list(Path("runs").rglob("manifest.json"))
    assert not Path("saved_models").exists()


def test_an_invalid_row_is_reported_and_other_rows_are_predicted(finished, tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("flags.tsv").write_text((finished[0] / "flags.tsv").read_text())
    change(4, "Supporting_Reads", "many")
    change(5, "Score BG", "")
    version = next((finished[0] / "saved_models/tiny").glob("[0-9]*"))
    answer = command("predict", version, "--input", "flags.tsv", "--output", "answers.csv")
    assert answer.status == 1 and "Traceback" not in answer.errors
    words = ["flags.tsv:4", "`Supporting_Reads`", "received 'many'", "1 of 1140 rows have no prediction"]
    assert all(word in answer.errors for word in words), answer.errors
    with open("answers.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 1140
    assert [number for number, line in enumerate(lines) if line["error"]] == [2]
    assert lines[2]["label"] == "" and lines[2]["Supporting_Reads"] == "many"
    assert lines[3]["label"] in ("0", "1") and lines[3]["outside_training_range"] == "Score_BG"


def test_a_missing_column_is_named_in_predict(finished, tmp_path, command):
    (tmp_path / "flags.tsv").write_text((finished[0] / "flags.tsv").read_text().replace("Score BG", "Score", 1))
    version = next((finished[0] / "saved_models/tiny").glob("[0-9]*"))
    answer = command("predict", version, "--input", tmp_path / "flags.tsv")
    assert answer.status == 1
    assert "flags.tsv:1: there is no column for the input `Score_BG`: expected Score BG or Score_BG" in answer.errors


def test_an_invalid_column_name_is_refused_before_reading(project, command):
    text = Path("tiny.yaml").read_text().replace('Score_BG: "Score BG"', "other: Score_Other")
    Path("tiny.yaml").write_text(text.replace("Score_BG", '"Score BG"'))
    answer = command("prepare", "tiny.yaml")
    assert answer.status == 1 and not Path("runs").exists()
    assert 'such as `Score_BG: "Score BG"`' in answer.errors
