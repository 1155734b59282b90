"""The same run on one device, on 2 and 4 replicas and in 2 processes: equal losses and weights."""

import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest

TRAINING = {"epochs": 2, "clip_norm": 0.1, "optimizer": ["adamw", {"learning_rate": 1e-3}]}
RUNS = {
    "micro-batches": {**TRAINING, "accumulation": 4},
    "terms and rows": {**TRAINING, "accumulation": 2, "task": "two terms", "sparse_embeddings": True},
}
SETTINGS = {
    "one device": {},
    "2 replicas": {"logical_devices": 2},
    "4 replicas": {"logical_devices": 4},
    "2 workers": {},
}


@pytest.fixture(scope="module")
def finish(last_tensors, tmp_path_factory):
    """Makes all RUNS with the settings of one name, once; returns for each the history and all tensors."""
    results = {}

    def run(name, process):
        if name not in results:
            folder = tmp_path_factory.mktemp(name.replace(" ", "-"))
            runs = {str(folder / run): settings for run, settings in RUNS.items()}
            running = process(workers=2 if name == "2 workers" else 1, runs=runs, **SETTINGS[name])
            assert running.wait(300) == 0, running.output.read_text()[-3000:]
            replicas = {"one device": 1, "4 replicas": 4}.get(name, 2)
            assert all((Path(path) / "done").read_text() == str(replicas) for path in runs)
            results[name] = {run: (read_history(folder / run), last_tensors(folder / run)) for run in RUNS}
        return results[name]

    return run


def read_history(folder):
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    return [[line[name] for name in ("loss", "validation_loss", "validation_accuracy")] for line in lines]


@pytest.mark.parametrize(
    "name", ["one device", "2 replicas", pytest.param("4 replicas", marks=pytest.mark.slow), "2 workers"]
)
def test_losses_and_weights_do_not_depend_on_how_a_batch_is_divided(name, finish, process):
    alone, found = finish("one device", process), finish(name, process)
    for (expected_history, expected), (history, tensors) in ((alone[run], found[run]) for run in RUNS):
        np.testing.assert_allclose(history, expected_history, atol=1e-5)
        assert tensors.keys() == expected.keys()
        for key, tensor in tensors.items():
            np.testing.assert_allclose(tensor, expected[key], atol=1e-5, err_msg=key)


def test_dropout_on_replicas_repeats_itself(process, tmp_path, last_tensors):
    runs = {str(tmp_path / name): {**TRAINING, "epochs": 1} for name in "ab"}
    running = process(task="bag", runs=runs, dropout=0.2, logical_devices=2)
    assert running.wait(300) == 0, running.output.read_text()[-3000:]
    first, second = (last_tensors(tmp_path / name) for name in "ab")
    for key, tensor in first.items():
        np.testing.assert_array_equal(tensor, second[key], err_msg=key)


def test_a_killed_worker_ends_the_others_and_all_go_on_together(process, tmp_path):
    training = {**TRAINING, "checkpoint_every": 2, "steps_per_loop": 1}
    runs = {str(tmp_path / "run"): training}
    running = process(workers=2, task="bag", runs=runs, kill_once=str(tmp_path / "killed"))
    assert running.wait(300) == 0, running.output.read_text()[-3000:]
    said = running.output.read_text()
    assert "worker 1 was ended by signal 9: all start again (1 of 3)" in said
    assert "resumes at step" in said


@pytest.mark.slow
def test_workers_that_are_asked_to_stop_save_together_and_go_on(process, tmp_path, last_tensors):
    runs = {str(tmp_path / "run"): {**TRAINING, "epochs": 6, "checkpoint_every": 2, "steps_per_loop": 1}}
    running = process(workers=2, task="bag", runs=runs, pause=0.2)
    while running.poll() is None and not list(tmp_path.glob("run/checkpoints/step-*")):
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(300) == 143, running.output.read_text()[-3000:]
    assert "stopped on request at step" in running.output.read_text()
    rest = process(workers=2, task="bag", runs=runs)
    assert rest.wait(300) == 0, rest.output.read_text()[-3000:]
    whole = process(task="bag", runs={str(tmp_path / "whole"): {**TRAINING, "epochs": 6}})
    assert whole.wait(300) == 0, whole.output.read_text()[-3000:]
    expected = last_tensors(tmp_path / "whole")
    for key, tensor in last_tensors(tmp_path / "run").items():
        np.testing.assert_allclose(tensor, expected[key], atol=1e-5, err_msg=key)
