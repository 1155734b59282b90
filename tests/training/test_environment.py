"""The environment of a run, and its line in the log."""

import dataclasses

from tfattn.training.environment import environment_of
from tfattn.training.precision import POLICIES, fastest
from tfattn.training.runtime import Runtime, num_cores

PARAMETERS = 60 * 8 + (8 + 1) * 2 + (8 + 1) * 3  # of the embedding and the two dense layers


def test_the_line_has_device_cores_precision_and_sizes(tiny, runtime):
    task = tiny.BagOfTokens(dropout=0.1)
    found = environment_of(runtime, task)
    assert (found.replicas, found.workers, found.cores) == (1, 1, num_cores())
    assert (found.parameters, found.trained) == (PARAMETERS, PARAMETERS)
    assert str(found).startswith(f"{found.device} · {found.cores} core")
    assert str(found).endswith(f" · float32: as configured · {PARAMETERS} parameters, all trained")
    task.embedding.trainable = False
    assert str(environment_of(runtime, task)).endswith(f"{PARAMETERS} parameters, 45 of them trained")


def test_the_line_has_replicas_and_processes(tiny, runtime):
    found = dataclasses.replace(environment_of(runtime, tiny.BagOfTokens()), cores=1, replicas=4, workers=2)
    assert " · 1 core · 4 replicas · 2 processes · " in str(found)


def test_the_chosen_precision_has_a_reason(runtime):
    precision, reason = fastest()
    assert precision in POLICIES and "multipl" in reason
    automatic = Runtime(strategy="one_device").start()
    assert (automatic.chosen_precision, automatic.reason) == (precision, reason)
