"""Resuming after SIGKILL: the result is the same, byte for byte, as without interruption."""

import json
import random
import time
from pathlib import Path

import pytest

TRAINING = {
    "steps": 26,
    "validate_every": 5,
    "steps_per_loop": 2,
    "checkpoint_every": 3,
    "averaging": ["ema", {"decay": 0.9}],
    "accumulation": 2,
    "optimizer": ["adamw", {"learning_rate": 1e-3}],
}
STEPS = 26


def newest(folder: Path) -> int:
    return max((int(path.name.removeprefix("step-")) for path in folder.glob("checkpoints/step-*")), default=0)


def train(process, folder: Path, **settings):
    return process(runs={str(folder): TRAINING}, dropout=0.1, **settings)


def kill_and_resume(process, folder: Path, *, kills: int, seed: int, task: str) -> None:
    """Kill the run at random moments, then let it finish."""
    moments = random.Random(seed)
    for _ in range(kills):
        running = train(process, folder, task=task, pause=0.1)
        goal = newest(folder) + moments.randint(0, max(1, STEPS // (kills + 1)))
        while running.poll() is None and newest(folder) <= min(goal, STEPS - 1):
            time.sleep(0.01)
        time.sleep(moments.random() * 0.5)
        assert running.poll() in (None, 0), running.output.read_text()[-3000:]
        running.kill()
        running.wait()
    last = train(process, folder, task=task)
    assert last.wait(300) == 0, last.output.read_text()[-3000:]


def timeless(folder: Path) -> list[dict]:
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if "second" not in name} for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "task"), [(2, "bert"), (10, "bert"), (2, "adapter"), (2, "distilled"), (2, "normalized")]
)
def test_killed_runs_end_with_the_same_bytes(process, tmp_path, last_tensors, kills, task):
    whole = train(process, tmp_path / "whole", task=task)
    kill_and_resume(process, tmp_path / "cut", kills=kills, seed=kills, task=task)
    assert whole.wait(300) == 0, whole.output.read_text()[-3000:]
    expected, tensors = last_tensors(tmp_path / "whole"), last_tensors(tmp_path / "cut")
    assert expected.keys() == tensors.keys()
    for name, tensor in expected.items():
        assert tensor.tobytes() == tensors[name].tobytes(), name
    assert timeless(tmp_path / "whole") == timeless(tmp_path / "cut")
