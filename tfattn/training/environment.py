"""The hardware, precision and size of a model that is trained, for the first lines of a run and for its report."""

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
    """The content of a run's `environment.json`; `str` puts it in a line.

    Args:
        device: the name of this machine's GPUs or processor.
        cores: the number of the processor's cores that this process may use.
        replicas: the number of parts of a batch that are computed side by side, on all machines.
        workers: the number of processes that train together.
        precision: the precision of layers, such as bfloat16.
        reason: the reason for it.
        parameters: the number of parameters of the whole model.
        trained: the number of those that training changes.
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
    """Describe what a task is trained on.

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
    """Return the name of the GPUs, or else of the processor.

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
