"""The environment of a training run: hardware, precision and size of the model, for the log and the report."""

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
    """The content of a run's `environment.json`; `str` formats it as a line.

    Args:
        device: the name of this machine's GPUs or processor.
        cores: the number of cores that this process may use.
        replicas: the number of replicas, on all machines.
        workers: the number of training processes.
        precision: the precision of layers, such as bfloat16.
        reason: the reason for the precision.
        parameters: the number of parameters of the model.
        trained: the number of trained parameters.
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
    """Describe the environment in which a task is trained.

    Args:
        runtime: a started runtime.
        task: a built task.
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
    """Return the name of the GPUs, or of the processor if there are none.

    Args:
        replicas: the number of replicas of this process.
    """
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
