"""The list of runs: state, metric, time and size of each run."""

import json
import shutil

import pytest

from tfattn import files
from tfattn.errors import DataError
from tfattn.runs.listing import folder_bytes, list_runs


def only(name=None):
    (info,) = list_runs("runs", name)
    return info


def test_a_finished_run_has_its_state_metric_time_and_size(trained):
    info = only("tiny")
    run = trained / "runs" / "tiny" / info.id
    assert (info.name, info.state, info.metric, info.latest) == ("tiny", "exported", "accuracy", True)
    assert info.value == json.loads((run / "metrics.json").read_text())["accuracy"]
    stages = [json.loads(path.read_text())["seconds"] for path in (run / "stages").glob("*.json")]
    assert info.seconds == pytest.approx(sum(stages)) and len(stages) == 3
    assert info.bytes == folder_bytes(run) > sum(path.stat().st_size for path in run.glob("checkpoints/*/*"))


def test_the_state_follows_the_finished_stages(trained):
    run = trained / "runs" / "tiny" / only().id
    history = [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]
    for stage, state in {"export": "evaluated", "evaluate": "trained", "train": f"step {history[-1]['step']}"}.items():
        (run / "stages" / f"{stage}.json").unlink()
        assert only().state == state
    with files.lock(run):
        assert only().state == f"step {history[-1]['step']}, running"
    (run / "metrics.json").unlink()
    assert only().metric == "validation_accuracy"
    assert only().value == max(line["validation_accuracy"] for line in history)
    shutil.rmtree(run / "checkpoints")
    assert (only().state, only().value) == ("started", None)


def test_an_ensemble_counts_its_trained_models(trained):
    run = trained / "runs" / "tiny" / only().id
    for member in ("a", "b"):
        shutil.copytree(run, run / "members" / member, ignore=lambda *_: ["members"])
    (run / "members" / "b" / "stages" / "train.json").unlink()
    assert only().state == "1 of 2 models trained"


def test_the_newest_run_comes_first(trained):
    run = trained / "runs" / "tiny" / only().id
    shutil.copytree(run, run.parent / "0123456789", symlinks=True)
    (run.parent / "0123456789" / "history.jsonl").touch()
    assert [(info.id, info.latest) for info in list_runs("runs")] == [("0123456789", False), (run.name, True)]


def test_a_name_without_runs_is_an_error(trained):
    with pytest.raises(DataError, match="no runs of this name: expected tiny"):
        list_runs("runs", "tinny")
    assert list_runs("nowhere") == []


def test_the_command_prints_a_table_or_json(trained, command):
    table = command("runs").output
    assert f"{only().id} *" in table and "exported" in table and "accuracy" in table
    assert json.loads(command("runs", "tiny", "--json").output)["id"] == only().id
