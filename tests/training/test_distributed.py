"""Losses and weights are equal on a device, on 2 and 4 replicas, and in 2 processes, a killed one included."""

import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest

OFTEN = {"checkpoint_every": 2, "steps_per_loop": 1}
TRAINING = {"epochs": 2, "clip_norm": 0.1, "optimizer": ["adamw", {"learning_rate": 1e-3}]}
DROPOUT = {**TRAINING, "epochs": 1, "task": "bag", "dropout": 0.2}
RUNS = {
    "micro-batches": {**TRAINING, **OFTEN, "accumulation": 4, "task": "bag"},
    "terms and rows": {**TRAINING, "updates_per_batch": 2, "task": "two terms", "sparse_embeddings": True},
    "compared rows": {**TRAINING, "task": "compared", "sparse_embeddings": True},
    "compared rows of micro-batches": {**TRAINING, "accumulation": 2, "task": "compared"},
    "normalized": {**TRAINING, "task": "normalized", "averaging": ["ema", {"decay": 0.9}]},
    "normalized micro-batches": {**TRAINING, "epochs": 1, "accumulation": 2, "task": "normalized"},
}
WITH_BERT = {
    **RUNS,
    "bert": {**TRAINING, "epochs": 1},
    "adapter": {**TRAINING, "epochs": 1, "accumulation": 2, "task": "adapter"},
    "distilled": {**TRAINING, "epochs": 1, "accumulation": 2, "task": "distilled"},
    "preferences": {**TRAINING, "epochs": 1, "accumulation": 2, "task": "preferences"},
}
ALL_RUNS = {
    "one device": WITH_BERT,
    "2 replicas": {**WITH_BERT, "dropout": DROPOUT, "dropout again": DROPOUT},
    "4 replicas": WITH_BERT,
    "2 workers": RUNS,  # several processes build each model
}
REPLICAS = {"one device": 1, "2 replicas": 2, "4 replicas": 4, "2 workers": 2}


@pytest.fixture(scope="module")
def finish(last_tensors, tmp_path_factory):
    """Return a function that makes all runs of a name once, and returns their histories and tensors."""
    results = {}

    def run(name, process):
        if name not in results:
            folder = tmp_path_factory.mktemp(name.replace(" ", "-"))
            runs = {str(folder / run): settings for run, settings in ALL_RUNS[name].items()}
            in_workers = name == "2 workers"
            settings = {"kill_once": str(folder / "killed")} if in_workers else {"logical_devices": REPLICAS[name]}
            running = process(workers=2 if in_workers else 1, runs=runs, **settings)
            assert running.wait(300) == 0, running.output.read_text()[-3000:]
            if in_workers:
                said = running.output.read_text()
                assert "worker 1 was ended by signal 9: all workers restart (1 of 3)" in said
                assert "resumes at step" in said
            assert all((Path(path) / "done").read_text() == str(REPLICAS[name]) for path in runs)
            results[name] = {run: (read_history(folder / run), last_tensors(folder / run)) for run in ALL_RUNS[name]}
        return results[name]

    return run


def read_history(folder):
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    return [[line[name] for name in ("loss", "validation_loss", "validation_accuracy")] for line in lines]


@pytest.mark.parametrize(
    "name", ["one device", "2 replicas", pytest.param("4 replicas", marks=pytest.mark.slow), "2 workers"]
)
def test_losses_and_weights_do_not_depend_on_the_strategy(name, finish, process):
    alone, found = finish("one device", process), finish(name, process)
    for run in alone.keys() & found.keys():
        (expected_history, expected), (history, tensors) = alone[run], found[run]
        np.testing.assert_allclose(history, expected_history, atol=1e-5)
        assert tensors.keys() == expected.keys()
        for key, tensor in tensors.items():
            np.testing.assert_allclose(tensor, expected[key], atol=1e-5, err_msg=key)


def test_dropout_on_replicas_repeats_itself(finish, process):
    found = finish("2 replicas", process)
    (_, first), (_, second) = found["dropout"], found["dropout again"]
    for key, tensor in first.items():
        np.testing.assert_array_equal(tensor, second[key], err_msg=key)


@pytest.mark.slow
def test_stopped_workers_save_and_resume(process, tmp_path, last_tensors):
    runs = {str(tmp_path / "run"): {**TRAINING, **OFTEN, "epochs": 6}}
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
