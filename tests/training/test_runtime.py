"""What a run takes of a machine without GPUs. Each case is a process of its own: devices are divided once for all."""

import json
import os
import subprocess
import sys

import keras
import pytest

from tfattn.training.runtime import SETTINGS, Runtime

SCRIPT = """
import json, os, sys
options, cores = json.loads(sys.argv[1]), int(sys.argv[2])
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
from tfattn import native
native.import_tensorflow()
import tensorflow as tf
from tfattn.training.runtime import Runtime
runtime = Runtime(**options).start()
threads = tf.config.threading.get_intra_op_parallelism_threads()
print(json.dumps([runtime.num_replicas, threads, *map(os.environ.get, sys.argv[3:])]))
"""
CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("options", "cores", "replicas", "threads"),
    [
        ({"logical_devices": "cores"}, 1, 1, 0),
        ({"logical_devices": "cores"}, CORES, min(CORES, 4), CORES // min(CORES, 4) if CORES > 1 else 0),
        ({"logical_devices": 2, "strategy": "mirrored"}, CORES, 2, max(1, CORES // 2)),
    ],
)
def test_the_cpu_is_split_on_request(options, cores, replicas, threads):
    assert started(options, cores) == [replicas, threads]


def test_the_cpu_is_whole_by_default_and_settings_of_libraries_have_defaults_beside_the_users_own():
    kept, allocator = SETTINGS
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    assert started({}, CORES, *SETTINGS, env={**environment, kept: "7"}) == [1, 0, "7", SETTINGS[allocator]]


def started(options, cores, *variables, env=None):
    command = [sys.executable, "-c", SCRIPT, json.dumps(options), str(cores), *variables]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_what_is_built_in_its_scope_computes_in_its_precision_and_nothing_else_does(precision):
    before = keras.config.dtype_policy()
    runtime = Runtime(precision=precision, strategy="one_device").start()
    assert keras.config.dtype_policy() == before
    with runtime.scope():
        inside = keras.layers.Dense(1)
    assert (inside.compute_dtype, keras.config.dtype_policy()) == (precision, before)
    with pytest.raises(ZeroDivisionError), runtime.scope():
        1 / 0  # noqa: B018 - it is what fails in the block
    assert keras.config.dtype_policy() == before
