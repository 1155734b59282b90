"""Runs in MLflow: everything once, under the same run after an interruption, and with any labels."""

import math

import pytest

import tfattn
from tests.runs.conftest import PIPELINE
from tfattn.errors import ConfigError
from tfattn.runs.mlflow_tracker import ID, MlflowTracker
from tfattn.runs.tracking import TrackedRun

HISTORY = [{"epoch": n, "step": 10 * n, "loss": 1 / n, "validation_accuracy": n / 4} for n in (1, 2, 3)]


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    """A new database of MLflow."""
    reason = "mlflow and sqlalchemy are not installed (the extra `mlflow`)"
    mlflow = pytest.importorskip("mlflow", reason=reason)
    pytest.importorskip("sqlalchemy", reason=reason)
    path = tmp_path_factory.mktemp("mlflow")
    uri = f"sqlite:///{path}/mlflow.db"
    mlflow.MlflowClient(tracking_uri=uri).create_experiment("reports", artifact_location=str(path / "artifacts"))
    return uri


@pytest.fixture
def client(uri):
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri)


def runs(client, id: str):
    number = client.get_experiment_by_name("reports").experiment_id
    return client.search_runs([number], filter_string=f"tags.`{ID}` = '{id}'")


def tracked(id: str, count: int, **more) -> TrackedRun:
    facts = {"name": f"reports {id}", "experiment": "reports", "state": "running", "history": HISTORY[:count]}
    return TrackedRun(id=id, **{**facts, **more})


def test_a_resumed_run_continues_the_run_in_mlflow(uri, client):
    MlflowTracker(uri=uri).log(tracked("a", 1, parameters={"seed": "7"}))
    MlflowTracker(uri=uri).log(tracked("a", 3, parameters={"seed": "8", "model.name": "bert"}, state="finished"))
    (run,) = runs(client, "a")
    assert (run.info.status, run.info.run_name) == ("FINISHED", "reports a")
    for name in ("loss", "validation_accuracy"):
        values = client.get_metric_history(run.info.run_id, name)
        assert [(value.step, value.value) for value in values] == [(line["step"], line[name]) for line in HISTORY]
    assert run.data.params == {"seed": "7", "model.name": "bert"}


def test_names_and_values_that_mlflow_refuses_are_replaced(uri, client):
    metrics = {"f1/</td><script>": 0.5, "f1/..": 0.25, "f1/机械": 1.0, "loss": math.nan}
    parameters = {f"data.caps.{n} | x": "y" * 10_000 for n in range(150)}
    MlflowTracker(uri=uri).log(tracked("b", 0, metrics=metrics, parameters=parameters))
    (run,) = runs(client, "b")
    found = run.data.metrics
    assert (found["evaluation/f1/_"], found["evaluation/f1/机械"]) == (0.25, 1.0)
    assert 0.5 in found.values() and any(map(math.isnan, found.values()))
    assert len(run.data.params) == 150


def test_models_are_nested_in_their_ensemble(uri, client):
    tracker = MlflowTracker(uri=uri)
    tracker.log(tracked("c", 0))
    tracker.log(tracked("d", 2, parent="c"))
    ((whole,), (model,)) = runs(client, "c"), runs(client, "d")
    assert model.data.tags["mlflow.parentRunId"] == whole.info.run_id


def test_artifacts_are_replaced_when_they_change(uri, client, tmp_path):
    report = tmp_path / "report.html"
    tags = []
    for text in ("old", "old", "new report"):
        report.write_text(text)
        MlflowTracker(uri=uri).log(tracked("e", 0, artifacts=[report]))
        (run,) = runs(client, "e")
        tags.append(run.data.tags["tfattn.artifact.report.html"])
    assert tags[0] == tags[1] != tags[2]
    (found,) = client.list_artifacts(run.info.run_id)
    assert (found.path, found.file_size) == ("report.html", len("new report"))


def test_a_trained_run_is_in_mlflow(uri, client, folder):
    tracker = {"name": "mlflow", "uri": uri, "experiment": "reports"}
    run = tfattn.run({**PIPELINE, "tracker": tracker}, until="evaluate")
    (found,) = runs(client, run.id)
    assert found.info.status == "FINISHED"
    assert found.data.metrics["evaluation/accuracy"] == run.metrics["accuracy"]
    assert found.data.params["model.name"] == "feature_tokenizer_transformer"
    losses = client.get_metric_history(found.info.run_id, "validation_loss")
    assert [value.value for value in losses] == list(run.history["validation_loss"])
    assert [file.path for file in client.list_artifacts(found.info.run_id)] == ["report.html"]


def test_a_server_that_is_down_costs_a_warning(uri, folder, capfd):
    tracker = {"name": "mlflow", "uri": "http://127.0.0.1:9"}
    run = tfattn.run({**PIPELINE, "tracker": tracker}, until="train")
    assert len(run.history) == 2
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "not tracked" in line]
    assert "127.0.0.1" in line


def test_without_the_package_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    with pytest.raises(ConfigError, match=r"the package mlflow is not installed.*pip install 'tfattn\[mlflow\]'"):
        MlflowTracker()
