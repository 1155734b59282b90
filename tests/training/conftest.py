"""Fixtures of training tests: tiny tasks and rows, in this process and in separate processes."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from tfattn.training import loop as loops
from tfattn.training.loop import TrainingLoop
from tfattn.training.optimizers import Sgd
from tfattn.training.runtime import Runtime
from tfattn.training.schedules import Constant
from tfattn.training.seeding import seeded
from tfattn.training.step import TrainingStep

SCRIPT = Path(__file__).with_name("tiny.py")
PROJECT = SCRIPT.parents[2]
# As tfattn itself loads TensorFlow: in half of the time.
RUN = (
    "import runpy, sys; from tfattn import native; native.import_tensorflow(); del sys.argv[0]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
START_WORKERS = (
    "import sys; from tfattn.training.workers import start_workers; "
    "sys.exit(start_workers(int(sys.argv[1]), sys.argv[2:]))"
)


@pytest.fixture(scope="session")
def tiny():
    """The module tiny.py."""
    spec = importlib.util.spec_from_file_location("tiny", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def data(tiny, tmp_path_factory):
    """A folder with 53 rows to train on and 23 to validate on."""
    return tiny.write_rows(tmp_path_factory.mktemp("data") / "prepared")


@pytest.fixture
def runtime():
    """One device in float32."""
    return Runtime(precision="float32", strategy="one_device").start()


@pytest.fixture
def make(tiny, data, runtime, monkeypatch):
    """Return a function that builds task, loop and batches from the same weights; a call takes all steps."""
    monkeypatch.setattr(loops, "SECONDS_PER_CALL", 3600.0)  # however busy the machine is

    def build(*, kind="BagOfTokens", optimizer=None, on=runtime, batch_size=8, options=None, **settings):
        with seeded(7), on.scope():
            task = getattr(tiny, kind)(**(options or {}))
        optimizer = optimizer or Sgd(learning_rate=0.1)
        weights = [variable.value for variable in task.trainable_weights]
        optimizer.build(weights, [1.0] * len(weights))
        step = TrainingStep(
            task,
            optimizer,
            on,
            schedule=Constant(warmup=0),
            averaging=None,
            total_steps=100,
            masks=("padding_mask",),
            seed=3,
            batch_rows=batch_size,
            **{"accumulation": 1, "updates": 1, "clip_norm": None, "sparse_embeddings": False, **settings},
        )
        loop = TrainingLoop(step, on)
        reader = tiny.read(data, "train", batch_size=batch_size)
        return (
            task,
            loop,
            lambda start=0: iter(on.read(reader, 0, start=start, accumulation=step.accumulation, updates=step.updates)),
        )

    return build


@pytest.fixture
def process(data, tmp_path):
    """Return a function that starts tiny.py with settings, in a process or as workers; `output` has its output."""
    started = []

    def start(*, workers: int = 1, **settings) -> subprocess.Popen:
        file = tmp_path / f"settings-{len(started)}.json"
        file.write_text(json.dumps({"data": str(data), **settings}))
        command = [sys.executable, "-c", RUN, str(SCRIPT), str(file)]
        output = file.with_suffix(".txt")
        with open(output, "wb") as stream:
            running = subprocess.Popen(
                command if workers == 1 else [sys.executable, "-c", START_WORKERS, str(workers), *command],
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
            )
        running.output = output
        started.append(running)
        return running

    yield start
    for running in started:
        running.terminate()
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:  # it waits in TensorFlow, where no signal handler of Python runs
            running.kill()
            running.wait()


@pytest.fixture(scope="session")
def last_tensors():
    """Return a function that reads all tensors of the newest checkpoint of a run."""

    def read(folder: Path) -> dict:
        newest = max((folder / "checkpoints").glob("step-*"))
        return {
            f"{path.stem}:{name}": tensor
            for path in sorted(newest.glob("*.safetensors"))
            for name, tensor in load_file(path).items()
        }

    return read
