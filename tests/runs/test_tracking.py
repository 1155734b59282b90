"""A tracker gets the facts of a run once, and cannot stop it."""

import pytest

import tfattn
from tests.runs.conftest import PIPELINE
from tfattn import stages
from tfattn.runs.tracking import flat
from tfattn.training.interruption import Stopped


def test_a_run_is_tracked_from_its_start_to_its_end(folder):
    run = tfattn.run(PIPELINE, until="evaluate")
    logged = run.tracking._tracker.logged
    assert {tracked.id for tracked in logged} == {run.id}
    assert [len(tracked.history) for tracked in logged] == [0, 1, 2, 2]
    assert [tracked.state for tracked in logged] == ["running", "running", "running", "finished"]
    last = logged[-1]
    assert last.metrics == run.metrics and last.artifacts == [run.report]
    assert last.parameters["training.optimizer.learning_rate"] == "0.01"
    assert last.parameters["data.preprocessing.numeric"] == '["age", "height"]'


def test_the_models_of_an_ensemble_belong_to_its_run(folder):
    run = tfattn.run(PIPELINE, until="train", ensemble={"seeds": 2}, training={"epochs": 1})
    logged = run.tracking._tracker.logged
    parents = {tracked.id: tracked.parent for tracked in logged}
    assert parents == {run.id: None, **{member.id: run.id for member in run.members}}
    assert logged[0].id == run.id, "the run is known before its models"
    assert {tracked.id: len(tracked.history) for tracked in logged if tracked.parent} == {
        member.id: 1 for member in run.members
    }


def test_a_broken_tracker_is_reported_once_and_the_run_ends_well(folder, capfd):
    run = tfattn.run(PIPELINE, until="train", tracker={"broken": True})
    assert len(run.history) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if "not tracked" in line]
    assert lines == ["note: the run is not tracked any more, the next command tries again: no route to the server"]


@pytest.mark.parametrize(
    ("error", "state"), [(ValueError("x"), "failed"), (KeyboardInterrupt(), "killed"), (Stopped(143), "killed")]
)
def test_the_state_follows_from_the_error(folder, error, state):
    run = stages.open_run(PIPELINE, None)
    (run.folder).mkdir(parents=True)
    (run.folder / "history.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    with pytest.raises(type(error)), run.tracking.until_end():
        raise error
    assert [tracked.state for tracked in run.tracking._tracker.logged] == [state]


def test_the_tracker_is_not_part_of_the_id(folder):
    assert stages.open_run(PIPELINE, None).id == stages.open_run({**PIPELINE, "tracker": None}, None).id


def test_flat_keys():
    assert flat({"a": {"b": 1, "c": None}, "d": "x", "e": [1, "é"]}) == {"a.b": "1", "d": "x", "e": '[1, "é"]'}
