"""The evaluation of an export on new rows."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servers import RestServer
from tests.serving.stand_ins import TEXTS, Models, Version, signature
from tfattn import files
from tfattn.errors import ConfigError, DataError
from tfattn.evaluation.new_rows import evaluate_rows


@pytest.fixture
def inside(finished, tmp_path, monkeypatch):
    """The folder of a finished run, entered; results go elsewhere."""
    monkeypatch.chdir(finished[0])
    return tmp_path


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def reports():
    with open("reports.csv", encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_results_are_those_of_a_run(inside, command):
    gold = write(inside / "gold.csv", reports()[:60])
    answer = command("evaluate", "tiny", "--on", gold, "--output", inside / "out")
    assert answer.status == 0, answer.errors
    metrics = files.read_json(inside / "out/metrics.json")
    assert {
        "accuracy",
        "accuracy_low",
        "macro_f1_low",
        "log_loss_high",
        "drift/text",
        "drifted_inputs",
    } <= metrics.keys()
    assert metrics["macro_f1_low"] <= metrics["macro_f1"] <= metrics["macro_f1_high"]
    lines = [json.loads(line) for line in (inside / "out/predictions.jsonl").read_text().splitlines()]
    assert len(lines) == 60 and {"row", "text", "target", "predicted", "right", "scores"} <= lines[0].keys()
    assert sum(line["right"] for line in lines) / 60 == pytest.approx(metrics["accuracy"])
    page = (inside / "out/report.html").read_text()
    assert "Drift of the inputs" in page and "60 new texts" in page
    assert f"accuracy {metrics['accuracy']:.4f}" in answer.errors and "report.html" in answer.errors


def test_predictions_agree_with_the_run_and_with_predict(inside, command):
    run = Path("runs/tiny/latest")
    found = evaluate_rows(run, run / "predictions.jsonl", output=inside)
    expected = files.read_json(run / "metrics.json")
    shared = [name for name in found.metrics if name in expected and not name.startswith("drift")]
    assert {"accuracy", "macro_f1", "log_loss", "calibration_error"} <= set(shared)
    for name in shared:
        assert found.metrics[name] == pytest.approx(expected[name], abs=1e-4), name
    answer = command("predict", "tiny", "--input", run / "predictions.jsonl", "--format", "jsonl")
    predicted = [json.loads(line)["label"] for line in answer.output.splitlines()]
    assert predicted == [line["predicted"] for line in found.predictions]


def test_a_model_on_a_server_is_evaluated(tmp_path):
    def length(text):
        return {"prediction": np.array([len(one) for one in text], np.float32)}

    default = signature("serving_default", {"text": TEXTS}, {"prediction": (tf.float32, [None])})
    gold = write(tmp_path / "gold.csv", [{"text": "x" * number, "target": number + 1} for number in range(1, 9)])
    with RestServer(Models(Version("lengths", 1, [(default, length)]))) as started:
        found = evaluate_rows(f"http://{started.host}/lengths", gold, output=tmp_path / "out", batch_size=3)
    assert found.metrics["mean_absolute_error"] == 1 and found.metrics["r2_low"] <= found.metrics["r2"]
    assert found.drift == [] and found.report.is_file()


def test_other_texts_are_drift(inside):
    rows = [{**row, "Description": row["Description"] * 8} for row in reports()[:100]]
    found = evaluate_rows("tiny", write(inside / "long.csv", rows), output=inside)
    assert [one.name for one in found.drift if one.is_drift] == ["text"]
    assert any("differ from the training rows in “text”" in warning for warning in found.warnings)


@pytest.mark.parametrize(("unknown_labels", "count"), [("leave_out", 20), ("wrong", 30)])
def test_unknown_labels_are_left_out_or_wrong(inside, unknown_labels, count):
    rows = [{**row, "Category": "Other" if index < 10 else row["Category"]} for index, row in enumerate(reports()[:32])]
    rows[30]["Category"] = rows[31]["Category"] = ""
    found = evaluate_rows("tiny", write(inside / "g.csv", rows), output=inside, unknown_labels=unknown_labels)
    assert len(found.predictions) == count and found.unknown == {"Other": 10} and found.without_target == 2
    assert found.metrics.get("support/Other") == (10 if unknown_labels == "wrong" else None)
    assert any("“Other”" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: {"Category": row["Category"]}, r"there is no column for the input `text`: expected Description"),
        (lambda row: {"Description": row["Description"]}, r"there is no column of true targets: expected 'Category'"),
        (lambda row: {**row, "Category": ""}, r"no row has a target"),
    ],
)
def test_a_file_that_does_not_fit_is_one_message(inside, command, change, message):
    gold = write(inside / "gold.csv", [change(row) for row in reports()[:5]])
    with pytest.raises(DataError, match=message):
        evaluate_rows("tiny", gold, output=inside / "out")
    answer = command("evaluate", "tiny", "--on", gold, "--output", inside / "out")
    assert answer.status == 1 and answer.errors.count("error: ") == 1 and not (inside / "out").exists()


def test_a_run_without_an_export_names_the_remedy(inside):
    text = Path("tiny.yaml").read_text().replace("name: tiny", "name: other")
    files.write_text(inside / "run/config.yaml", text)
    with pytest.raises(ConfigError, match="the run has no export. Export it first: tfattn export"):
        evaluate_rows(inside / "run", "reports.csv", output=inside)
