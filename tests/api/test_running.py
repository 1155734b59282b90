"""A run from Python: the same stages as the command, and the results as objects."""

import pandas as pd
import pytest

import tfattn
from tfattn.errors import ConfigProblems, DataError


@pytest.fixture
def entered(finished, monkeypatch):
    folder, _ = finished
    monkeypatch.chdir(folder)
    return folder


def test_a_finished_run_is_returned_with_its_results(entered):
    run = tfattn.run("tiny.yaml")
    assert 0 < run.metrics["accuracy"] <= 1
    assert list(run.history["epoch"]) == [1, 2] and set(run.history["member"]) == {0}
    assert isinstance(run.predictions, pd.DataFrame) and len(run.predictions) > 10
    assert any(column.startswith("scores.") for column in run.predictions)
    assert run.report.is_file() and len(run.members) == 1
    assert (run.export / "saved_model.pb").is_file()
    assert str(run.export) in run._repr_html_() and "accuracy" in run._repr_html_()
    assert repr(run) == f"<Run tiny in {run.folder}>"


def test_overrides_define_another_run_and_missing_results_name_the_stage(entered):
    run = tfattn.run("tiny.yaml", until="prepare", training={"epochs": 1}, **{"model.hidden_dim": 8})
    assert run.config.at("training", "epochs") == 1 and run.config.at("model", "hidden_dim") == 8
    assert run.config.at("training", "optimizer", "learning_rate") == 5e-3
    with pytest.raises(DataError, match=r'metrics.json: the run has no such result yet.*until="evaluate"'):
        run.metrics  # noqa: B018


def test_errors_of_a_dictionary_are_those_of_a_file(entered):
    with pytest.raises(ConfigProblems, match=r"pipeline: model.hidden_dims: unknown key. Did you mean `hidden_dim`"):
        tfattn.run(
            {"name": "x", "data": {}, "model": {"name": "bert", "hidden_dims": 3}, "task": {"name": "regression"}}
        )
