"""The runtime on a machine without GPUs."""

import json
import os
import subprocess
import sys

import keras
import pytest

from tfattn.errors import ConfigError
from tfattn.training.runtime import SETTINGS, Runtime

# Devices are divided once for all in a process: each case has a copy of one that has only loaded TensorFlow.
SCRIPT = """
import json, os, signal, sys
from tfattn import native
native.import_tensorflow()
import tensorflow as tf
from tfattn.training.runtime import Runtime

def started(options, cores, settings):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    runtime = Runtime(**options).start()
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    return [runtime.num_replicas, threads, *map(os.environ.get, settings)]

for case in json.loads(sys.argv[1]):
    if not os.fork():
        signal.alarm(300)  # a copy that hangs is ended
        print(json.dumps(started(*case)), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, case
"""
CORES = len(os.sched_getaffinity(0))
PARTS = min(CORES, 4)
CASES = [
    ({"logical_devices": "cores"}, 1, [1, 0]),
    ({"logical_devices": "cores"}, CORES, [PARTS, CORES // PARTS if CORES > 1 else 0]),
    ({"logical_devices": 2, "strategy": "mirrored"}, CORES, [2, max(1, CORES // 2)]),
    ({}, CORES, [1, 0]),
    ({"threads": 1}, CORES, [1, 1]),
]


def test_the_cpu_is_split_and_environment_variables_have_defaults():
    kept, allocator = SETTINGS
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    cases = json.dumps([(options, cores, list(SETTINGS)) for options, cores, _ in CASES])
    command = [sys.executable, "-c", SCRIPT, cases]
    done = subprocess.run(command, capture_output=True, text=True, env={**environment, kept: "7"})
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()[-len(CASES) :]]
    assert found == [[*expected, "7", SETTINGS[allocator]] for _, _, expected in CASES]


def test_a_missing_gpu_is_an_error_with_the_reason():
    with pytest.raises(ConfigError, match="no GPU can be used: expected a GPU .*, received a .*`device: auto`"):
        Runtime(device="gpu").start()
    assert Runtime(device="cpu").start().num_replicas == 1


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_the_scope_sets_the_precision(precision):
    before = keras.config.dtype_policy()
    runtime = Runtime(precision=precision, strategy="one_device").start()
    assert keras.config.dtype_policy() == before
    with runtime.scope():
        inside = keras.layers.Dense(1)
    assert (inside.compute_dtype, keras.config.dtype_policy()) == (precision, before)
    with pytest.raises(ZeroDivisionError), runtime.scope():
        1 / 0  # noqa: B018 - it is what fails in the block
    assert keras.config.dtype_policy() == before
