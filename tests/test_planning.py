"""Tests of `tfattn plan`."""

import json

import pytest

from tfattn import planning
from tfattn.planning import duration
from tfattn.training.session import WARM_UP_STEPS


@pytest.fixture
def planned(project, command, monkeypatch):
    """The run and the plan of a command, which must print it."""
    plans, plan = [], planning.plan
    monkeypatch.setattr(planning, "plan", lambda run: plans.append((run, plan(run))) or plans[-1][1])
    answer = command("plan", "tiny.yaml", "--set", "training.epochs=3")
    assert answer.status == 0, answer.errors
    assert "Plan of tiny" in answer.output + answer.errors
    return plans[-1]


def test_a_plan_has_the_sizes_of_the_run_and_leaves_no_training(planned, project):
    run, plan = planned
    facts = json.loads(next(project.glob("runs/tiny/prepared/*/manifest.json")).read_text())
    assert plan.epoch_steps == -(-facts["splits"]["train"]["records"] // 32)
    assert plan.steps == 3 * plan.epoch_steps
    assert plan.validations == 3
    assert 0 < plan.trained <= plan.parameters
    assert plan.timing.timed_steps + WARM_UP_STEPS >= plan.steps or plan.timing.step_seconds > 0
    assert plan.train_seconds > plan.epoch_seconds > plan.epoch_steps * plan.timing.step_seconds > 0
    assert plan.disk_bytes > plan.prepared_bytes + 4 * plan.parameters
    assert not list(run.folder.glob("checkpoints/*"))


def test_results_that_do_not_fit_on_the_disk_are_refused(project, command, monkeypatch):
    monkeypatch.setattr("tfattn.planning.shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    answer = command("plan", "tiny.yaml")
    assert answer.status == 2
    assert "runs_folder: the run does not fit on the disk: expected " in answer.errors
    assert "received 1.0 kB" in answer.errors


def test_weights_that_do_not_fit_into_memory_are_refused(project, command):
    answer = command("plan", "tiny.yaml", "--set", "model.intermediate_dim=40000000000")
    assert answer.status == 2
    assert "the model is too large for this machine" in answer.errors


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.25, "0.2 s"), (80, "80.0 s"), (90, "1.5 min"), (5400, "1.5 h"), (86400, "24.0 h")]
)
def test_durations_have_a_suitable_unit(seconds, text):
    assert duration(seconds) == text
