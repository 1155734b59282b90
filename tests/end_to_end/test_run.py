"""From a CSV to predictions of an export, by the command line."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tfattn import files
from tfattn.serving.client import local


@pytest.fixture(autouse=True)
def inside(finished, monkeypatch):
    monkeypatch.chdir(finished[0])


def test_a_run_writes_all_outputs(finished):
    folder, answer = finished
    assert answer.status == 0, answer.errors
    latest = folder / "runs" / "tiny" / "latest"
    kept = {"config.yaml", "metrics.json", "history.jsonl", "predictions.jsonl", "report.html", "checkpoints", "plots"}
    assert kept <= set(os.listdir(latest))
    assert {"accuracy", "macro_f1", "log_loss"} <= files.read_json(latest / "metrics.json").keys()
    assert len((latest / "history.jsonl").read_text().splitlines()) == 2
    prepared = next((folder / "runs" / "tiny" / "prepared").glob("[0-9a-f]*"))
    assert {"summary.json", "classes.svg", "manifest.json", "preprocessing"} <= set(os.listdir(prepared))
    (version,) = (folder / "saved_models" / "tiny").glob("[0-9]*")
    assert files.read_json(version / "assets.extra" / "parity.json")["label_agreement"] == 1.0


def test_the_report_names_the_training_environment(finished):
    folder, answer = finished
    (line,) = [line for line in answer.errors.splitlines() if " parameters, " in line]
    assert " core" in line and " · float32: as configured · " in line
    assert line in (folder / "runs/tiny/latest/report.html").read_text()


def test_a_second_run_skips_finished_stages(finished, command):
    before = sorted(map(str, finished[0].rglob("*")))
    answer = command("run", "tiny.yaml")
    assert answer.status == 0
    assert answer.errors.count("nothing has changed, skipped") == 4
    assert sorted(map(str, finished[0].rglob("*"))) == before


def test_predict_answers_lines_in_order(command):
    with open("new.txt", "w") as file:
        file.write("Coolant is pooling underneath sorter.\nSorter blows fuses at start up.\n")
    answer = command("predict", "tiny", "--input", "new.txt")
    first, second = map(json.loads, answer.output.splitlines())
    assert first["text"].startswith("Coolant") and second["text"].startswith("Sorter")
    assert set(first["scores"]) == {"Electronic Failure", "Leak", "Mechanical Failure", "Software Failure"}
    assert first["score"] == max(first["scores"].values())


def test_predict_reads_the_training_file(command):
    answer = command("predict", "tiny", "--input", "reports.csv", "--output", "answers.jsonl")
    assert answer.status == 0, answer.errors
    with open("answers.jsonl") as file:
        assert len(file.readlines()) == 480
    assert "answers.jsonl: predictions of 480 rows" in answer.errors


def test_a_similar_file_is_read_like_the_training_file(project, command):
    text = (project / "reports.csv").read_text(encoding="utf-8-sig").replace("Description", "Störung", 1)
    (project / "reports.csv").write_text(text.replace("Oil", "Öl"), encoding="latin-1")
    source = "data.source={name: csv, path: reports.csv, encoding: latin-1, fields: {text: Störung, label: Category}}"
    assert command("run", "tiny.yaml", "--set", source, "--set", "training.epochs=1").status == 0
    answer = command("predict", "tiny", "--input", "reports.csv", "--output", "answers.tsv")
    assert answer.status == 0, answer.errors
    answers = (project / "answers.tsv").read_text().splitlines()
    assert len(answers) == 481 and "\ttruncated\t" in answers[0]
    assert sum(line.startswith("Öl ") for line in answers) == text.count("\nOil ") > 0


def test_features_of_an_export_are_the_inputs_of_its_head(command):
    read = ("--input", "reports.csv", "--pooling", "mean", "--output", "vectors.npy")
    assert command("features", "tiny", *read).status == 0
    with open("reports.csv", encoding="utf-8-sig", newline="") as file:
        texts = [{"text": row["Description"]} for row in csv.DictReader(file)]
    expected = local.load("tiny").outputs(texts, signature="features")["encoded"]
    np.testing.assert_allclose(np.load("vectors.npy"), expected, atol=1e-5)


def test_the_attention_of_a_classifier_is_a_page(command, tmp_path):
    answer = command("attention", "tiny", "--text", "Sorter blows fuses.", "--output", str(tmp_path / "look.html"))
    assert answer.status == 0, answer.errors
    assert 'id="data"' in (tmp_path / "look.html").read_text(encoding="utf-8")


def test_an_unknown_picture_format_is_refused_before_loading(command):
    answer = command("attention", "no such model", "--text", "a", "--output", "a.txt")
    assert answer.status == 2
    assert "a.txt: unknown file format: expected one of .html, .png, .svg, .pdf" in answer.errors


def test_the_configuration_of_a_run_is_a_pipeline(command):
    answer = command("train", "runs/tiny/latest/config.yaml")
    assert answer.errors.count("nothing has changed, skipped") == 2


def test_changed_settings_give_another_run_on_the_same_data(trained, command):
    answer = command("train", "tiny.yaml", "--set", "training.epochs=1", "--set", "task.dropout=0.2")
    assert answer.status == 0 and "prepare: nothing has changed" in answer.errors
    assert len(list(trained.glob("runs/tiny/[0-9a-f]*"))) == 2
    assert len(list(trained.glob("runs/tiny/prepared/[0-9a-f]*"))) == 1


def test_native_libraries_print_nothing():
    """oneDNN has no kernel for a type, and says so as an error."""
    program = (
        "import contextlib, sys; from tfattn import cli; sys.argv[1:] = ['prepare', 'nowhere.yaml']\n"
        "with contextlib.suppress(SystemExit): cli.main()\n"
        "import tensorflow as tf; tf.transpose(tf.constant([[1]], tf.int64)); print('done')"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "done\n"
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("error: ")


def test_the_program_starts_as_a_process():
    done = subprocess.run([sys.executable, "-m", "tfattn", "--help"], capture_output=True, text=True, check=True)
    assert "prepare" in done.stdout and "export" in done.stdout


def test_a_plugin_extends_the_catalog(project, command):
    (project / "my_model.py").write_text(
        "from tfattn.models.bert import Bert\n\n\nclass Mine(Bert):\n    '''A model of my own.'''\n"
    )
    answer = command("check", "tiny.yaml", "--set", "model.name=mine", "--plugin", "models.mine=my_model:Mine")
    assert answer.status == 0, answer.errors
    assert "mine" in command("list", "models", "--plugin", "models.mine=my_model:Mine").output
    assert "mine" not in command("list", "models").output
    refused = command("check", "tiny.yaml", "--plugin", "my_model:Mine")
    assert refused.status == 2 and "CATALOG.NAME=MODULE:CLASS" in refused.errors


@pytest.mark.slow
def test_a_run_with_several_workers_finishes(project, command):
    answer = command("run", "tiny.yaml", "--workers", "2")
    assert answer.status == 0, answer.errors
    assert files.read_json(project / "runs/tiny/latest/environment.json")["workers"] == 2
    assert "exported" in answer.errors
