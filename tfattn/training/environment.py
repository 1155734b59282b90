"""On what a model is trained, in which numbers and how large it is: for the first lines of a run and its report."""

import math
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import keras
import tensorflow as tf

from tfattn.tasks.task import Task
from tfattn.training.runtime import Runtime, num_cores

ENVIRONMENT = "environment.json"  # in the folder of a trained model


@dataclass(frozen=True)
class Environment:
    """What a run's `environment.json` holds; `str` says it in a line.

    Args:
        device: the GPUs or the processor of this machine that train.
        cores: of the processor that this process may use.
        replicas: the parts of a batch that are computed side by side, on all machines.
        workers: processes that train together.
        precision: the numbers that layers compute in.
        reason: why in these.
        parameters: of the whole model.
        trained: those of them that training changes.
    """

    device: str
    cores: int
    replicas: int
    workers: int
    precision: str
    reason: str
    parameters: int
    trained: int

    def __str__(self) -> str:
        cores = f"{self.cores} core{'s' * (self.cores != 1)}"
        together = [f"{self.replicas} replicas"] if self.replicas > 1 else []
        together += [f"{self.workers} processes"] if self.workers > 1 else []
        trained = "all" if self.trained == self.parameters else f"{self.trained:,} of them"
        size = f"{self.parameters:,} parameters, {trained} trained"
        return " · ".join([self.device, cores, *together, f"{self.precision}: {self.reason}", size])


def environment_of(runtime: Runtime, task: Task) -> Environment:
    """What a built task is trained on.

    Args:
        runtime: started.
        task: built.
    """
    return Environment(
        device=device(len(runtime.local_replicas)),
        cores=num_cores(),
        replicas=runtime.num_replicas,
        workers=runtime.num_workers,
        precision=runtime.chosen_precision,
        reason=runtime.reason,
        parameters=_size(task.weights),
        trained=_size(task.trainable_weights),
    )


def device(replicas: int) -> str:
    """The GPUs by their name, else the processor by its own."""
    gpus = tf.config.list_logical_devices("GPU")[:replicas]
    if gpus:
        first = tf.config.list_physical_devices("GPU")[0]
        name = tf.config.experimental.get_device_details(first).get("device_name", "GPU")
        return f"{len(gpus)} x {name}" if len(gpus) > 1 else name
    processor = Path("/proc/cpuinfo")
    lines = processor.read_text().splitlines() if processor.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _size(weights: Iterable[keras.Variable]) -> int:
    return sum(math.prod(weight.shape) for weight in weights)
