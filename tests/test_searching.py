"""The search for settings: real trials in separate processes, kills, and several processes."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from tfattn import searching
from tfattn.config.read import read_yaml
from tfattn.errors import ConfigError, TrainingError
from tfattn.searching import search

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  split: {validation: 0.3}
  preprocessing: {name: table, numeric: [age, height]}
  batching: {batch_size: 8}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification}
training: {epochs: 2, optimizer: {name: sgd, learning_rate: 0.01, momentum: 0}, clip_norm: null}
runtime: {precision: float32}
search:
  trials: 2
  ranges:
    training.optimizer.learning_rate: {low: 1e-3, high: 1.0, log: true}
    model.num_layers: [1, 2]
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{age},{age * 7 % 31},{'old' if age + age * 7 % 31 > 35 else 'young'}\n" for age in range(80)]
    (tmp_path / "rows.csv").write_text("age,height,kind\n" + "".join(rows))
    (tmp_path / "tiny.yaml").write_text(PIPELINE)
    return tmp_path


def results(folder):
    lines = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_a_search_tries_the_pipeline_and_writes_the_best_trial_as_a_pipeline(project, capsys, monkeypatch):
    folder = search("tiny.yaml")
    first, second = results(folder)
    assert first["settings"] == {"training.optimizer.learning_rate": 0.01, "model.num_layers": 1}
    assert 1e-3 <= second["settings"]["training.optimizer.learning_rate"] <= 1.0
    assert {first["state"], second["state"]} == {"finished"} and first["metric"] == "accuracy"
    best = max((first, second), key=lambda trial: trial["value"])
    values = read_yaml(folder / "best.yaml").values
    assert values["model"]["num_layers"] == best["settings"]["model.num_layers"]
    rate = best["settings"]["training.optimizer.learning_rate"]
    assert values["training"]["optimizer"]["learning_rate"] == rate
    assert values["data"]["split"]["test"] == 0.2 and values["search"] is None
    page = (folder / "report.html").read_text()
    assert "Optimization history" in page and "num_layers" in page
    capsys.readouterr()
    written = results(search("tiny.yaml"))  # nothing is left to do
    assert written == [first, second] and "trial 3" not in capsys.readouterr().err
    monkeypatch.setattr(searching, "BUSY_SECONDS", 0.1)
    with sqlite3.connect(folder / "search.db") as database:
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TrainingError, match="database of the search cannot be used.*database is locked"):
            search("tiny.yaml")


def fail(project, trials):
    diverging = "{training.optimizer.learning_rate: {low: 1e36, high: 1e38, log: true}}"
    with pytest.raises(TrainingError, match="no trial has finished: received the loss diverged. See its log"):
        search("tiny.yaml", [f"search.ranges={diverging}", "training.epochs=4"], trials=trials)
    return [*(project / "runs" / "tiny" / "search").glob("*/logs/*")]


def test_a_failing_trial_is_a_result(project):
    assert len(fail(project, trials=1)) == 1


@pytest.mark.slow
def test_three_failing_trials_in_a_row_end_the_search(project):
    assert len(fail(project, trials=9)) == 3


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ("{model.num_layers: []}", "model.num_layers: the range is empty: expected a choice"),
        (
            "{model.num_layers: {low: 3, high: 3}}",
            "the range is empty: expected low < high, received {'low': 3, 'high': 3}",
        ),
        ("{training.clip_norm: {low: 0, high: 1, log: true}}", "no logarithms: expected 0 < low < high"),
        ("{model.num_layer: [1, 2]}", "num_layer.*Did you mean `num_layers`"),
        ("{model.num_layers: [1, many]}", "model.num_layers.*expected an integer"),
        ("{model.num_layers: {low: 1, hihg: 2}}", "not a range: expected a list of choices, or {low: .*hihg"),
        ("{model.num_layers: {low: 1, high: many}}", "expected numbers for low and high"),
        ("{model.num_layers: 2}", "model.num_layers: not a range.*received 2"),
    ],
)
def test_wrong_ranges_are_refused_before_the_first_trial(project, ranges, message):
    with pytest.raises(ConfigError, match=message):
        search("tiny.yaml", [f"search.ranges={ranges}"])
    assert not (project / "runs").exists()


def test_without_optuna_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"needs the package optuna. Install it: pip install tfattn\[search\]"):
        search("tiny.yaml")


def start(project, **options):
    command = [sys.executable, "-m", "tfattn", "search", "tiny.yaml", "--trials", "7"]
    return subprocess.Popen(command, cwd=project, start_new_session=True, **{"stderr": subprocess.DEVNULL, **options})


@pytest.mark.slow
def test_a_search_killed_ten_times_ends_with_the_trials_of_an_undisturbed_search(project, tmp_path_factory):
    undisturbed = results(search("tiny.yaml", trials=7))
    (project / "runs").rename(tmp_path_factory.mktemp("undisturbed") / "runs")
    draw = random.Random(7)
    for kill in range(10):
        process = start(project)
        time.sleep(draw.uniform(5, 25))
        # The process alone, whose trial then goes on without it, or both.
        os.killpg(process.pid, signal.SIGKILL) if kill % 2 else process.kill()
        process.wait()
    assert start(project).wait() == 0
    (folder,) = (project / "runs" / "tiny" / "search").glob("[!.]*")
    assert results(folder) == undisturbed


@pytest.mark.slow
def test_two_processes_share_a_search(project):
    with (project / "errors.txt").open("wb") as errors:
        processes = [start(project, stderr=errors) for _ in range(2)]
        assert [process.wait() for process in processes] == [0, 0], (project / "errors.txt").read_text()
    (folder,) = (project / "runs" / "tiny" / "search").glob("[!.]*")
    found = results(folder)
    assert [trial["number"] for trial in found] == [*range(7)]
    assert all(trial["state"] in ("finished", "pruned") for trial in found)
    assert len(list((folder / "logs").iterdir())) == 7
