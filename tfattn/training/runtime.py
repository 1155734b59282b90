"""The runtime: devices, distribution strategy and precision."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import tensorflow as tf
from pydantic import NonNegativeInt, PositiveInt

from tfattn.config.relations import NotWith, OnlyWith
from tfattn.errors import ConfigError, TrainingError
from tfattn.training.cluster import cluster
from tfattn.training.compiled import compiled
from tfattn.training.precision import fastest, precision_scope

# Environment variables that TensorFlow and oneDNN read at start; values that a user has set are kept.
SETTINGS = {
    # oneDNN caches compiled products by shape, and batches have hundreds of shapes: the default of 1,024 is too small.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "16384",
    # TensorFlow's own allocator: with varying shapes, malloc would take a tenth of a step.
    "TF_CPU_ALLOCATOR_USE_BFC": "1",
}
# The errors of TensorFlow's collectives after a process was lost.
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
)


class Runtime:
    """The devices of a run: one device, all devices of the machine, or the devices of several worker processes.

    `strategy: auto` uses the worker processes of the environment variable TF_CONFIG if there are several, else all
    GPUs, else the CPU. The rows of a batch and the result of a step do not depend on the strategy.

    Args:
        precision: the precision of layers; weights, sums and losses are always in float32. `auto` is bfloat16 if it is
            faster on this machine, else float32. float16 is for GPUs without bfloat16: losses are scaled, so that small
            gradients do not underflow.
        strategy: `one_device`, `mirrored` (all devices of this machine), `multi_worker` (the processes of TF_CONFIG),
            or `auto`.
        device: `gpu` ends with an error if TensorFlow finds no GPU; `cpu` does not use GPUs; `auto` uses GPUs if there
            are any.
        logical_devices: the number of logical devices into which the CPU is split, which share its cores and the rows
            of a batch; 0 does not split it. `cores` is the number of cores, at most four, on a machine without GPU: 1.5
            times as fast for models with operations too small for several cores.
        threads: the number of threads of an operation; null for one per core. A single thread is faster for very small
            operations, such as those of word vectors.

    Attributes:
        chosen_precision, reason: the precision of layers and the reason for it, after `start`.
        strategy: the strategy of TensorFlow, after `start`.
        local_replicas: the indices of the replicas in this process, after `start`.

    Example:
        runtime = Runtime(precision="float32").start()
        with runtime.scope():
            task = build_task()
    """

    def __init__(
        self,
        *,
        precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto",
        strategy: Literal["auto", "one_device", "mirrored", "multi_worker"] = "auto",
        device: Literal["auto", "cpu", "gpu"] = "auto",
        logical_devices: Annotated[
            NonNegativeInt | Literal["cores"], OnlyWith("strategy", values=("auto", "mirrored"))
        ] = 0,
        threads: Annotated[PositiveInt | None, NotWith("logical_devices")] = None,
    ):
        self.precision = precision
        self.strategy_name = strategy
        self.device = device
        self.logical_devices = logical_devices
        self.threads = threads

    def start(self) -> "Runtime":
        """Configure the devices, the precision and the environment variables of `SETTINGS` that are not set.

        Call it before any other use of TensorFlow in the process.
        """
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        self._choose_device()
        configured = (self.precision, "as configured")
        self.chosen_precision, self.reason = fastest() if self.precision == "auto" else configured
        if self.threads:
            with suppress(RuntimeError):  # TensorFlow is already in use: training is slower, but correct
                tf.config.threading.set_intra_op_parallelism_threads(self.threads)
        self.strategy = self._make_strategy()
        self.local_replicas = _local_replicas(self.strategy)
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open the scope in which variables are created for these devices, with the chosen precision."""
        with precision_scope(self.chosen_precision), self.strategy.scope():
            yield

    @property
    def num_replicas(self) -> int:
        """The number of replicas on all devices of all workers."""
        return self.strategy.num_replicas_in_sync

    @property
    def num_workers(self) -> int:
        """The number of training processes."""
        return self.num_replicas // len(self.local_replicas)

    @property
    def is_chief(self) -> bool:
        """Whether this process writes files: the only process, or the first of TF_CONFIG."""
        return cluster().is_chief

    def read(
        self, reader: Any, epoch: int, *, start: int = 0, accumulation: int = 1, updates: int = 1
    ) -> tf.data.Dataset:
        """Read the batches of an epoch from index `start` on, each with one element per replica of this process."""
        return reader.dataset(
            epoch,
            start=start,
            replicas=self.num_replicas,
            accumulation=accumulation,
            updates=updates,
            local=self.local_replicas,
        )

    def next(self, iterator: Any) -> Any:
        """Return the next batch, in the graph, as values for `strategy.run`.

        The iterator is not TensorFlow's distributed iterator, which synchronizes all workers before every batch: the
        readers of all workers have the same number of batches.
        """
        return self.strategy.experimental_distribute_values_from_function(lambda context: next(iterator))

    def run(self, function: Callable, *arguments: Any) -> Any:
        """Run a function once per replica, in the graph; return the result of the first replica of this process."""
        return tf.nest.map_structure(
            lambda value: self.strategy.experimental_local_results(value)[0],
            self.strategy.run(function, args=arguments),
        )

    def agree(self, number: int) -> bool:
        """Wait for all workers, and return whether all have the same number."""
        if self.num_workers == 1:
            return True
        return float(self._sum(tf.constant(float(number), tf.float64))) == number * self.num_replicas

    @contextmanager
    def report_lost_workers(self) -> Iterator[None]:
        """Convert TensorFlow's errors about a lost worker within the block into a TrainingError.

        Raises:
            TrainingError: another worker was lost.
        """
        try:
            yield
        except LOST as error:
            if self.num_workers == 1:
                raise
            raise TrainingError(
                "another worker was lost",
                expected=f"{self.num_workers} workers",
                received=f"{type(error).__name__} from a collective operation",
                remedy="Start all workers again: they resume from the last checkpoint.",
            ) from None

    @functools.cached_property
    def _sum(self) -> Callable:
        """A function that sums a number over all replicas."""

        def of_replica(value):  # copied, because a collective needs the device of its input
            return tf.distribute.get_replica_context().all_reduce("SUM", tf.identity(value))

        return compiled(lambda value: self.run(of_replica, value))

    def _choose_device(self) -> None:
        """Hide the GPUs, or check that there is one."""
        if self.device == "cpu":
            with suppress(RuntimeError):  # TensorFlow is already in use, and its devices are fixed
                tf.config.set_visible_devices([], "GPU")
        elif self.device == "gpu" and not tf.config.list_physical_devices("GPU"):
            raise ConfigError(
                "no GPU can be used",
                key="device",
                expected="a GPU that TensorFlow can use",
                received=_why_no_gpu(),
                remedy="`python -m pip install tensorflow[and-cuda]` installs CUDA; `device: auto` uses the CPU.",
            )

    def _make_strategy(self) -> tf.distribute.Strategy:
        gpus = tf.config.get_visible_devices("GPU")
        workers = cluster().num_workers
        name, parts = self.strategy_name, self.logical_devices
        if parts == "cores":
            parts = 0 if gpus or workers else min(num_cores(), 4)
        if name == "auto":
            several = len(gpus) > 1 or parts > 1
            name = "multi_worker" if workers > 1 else "mirrored" if several else "one_device"
        if name == "multi_worker":
            if not workers:
                raise ConfigError(
                    "TF_CONFIG has no workers",
                    key="strategy",
                    expected="the environment variable TF_CONFIG",
                    received="none",
                    remedy="`tfattn train --workers N` sets it for N processes on this machine.",
                )
            return tf.distribute.MultiWorkerMirroredStrategy()
        if name == "one_device":
            return tf.distribute.get_strategy()
        if gpus and not parts:
            return tf.distribute.MirroredStrategy()
        _split_cpu(max(1, parts))
        names = [device.name for device in tf.config.list_logical_devices("CPU")]
        # The default for CPUs is a ring of collectives, which may start out of order in a loop of a graph.
        return tf.distribute.MirroredStrategy(names, cross_device_ops=tf.distribute.ReductionToOneDevice())


def _why_no_gpu() -> str:
    """Return the reason why TensorFlow has no GPU."""
    if not tf.test.is_built_with_gpu_support():
        return "a TensorFlow that was built without GPU support"
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all") in ("", "-1"):
        return f"CUDA_VISIBLE_DEVICES={os.environ['CUDA_VISIBLE_DEVICES']!r}, which hides all GPUs"
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        return "a machine without an NVIDIA device (/dev/nvidia0)"
    return "an NVIDIA device, but no matching CUDA libraries"


def num_cores() -> int:
    """Return the number of the processor's cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _local_replicas(strategy: tf.distribute.Strategy) -> range:
    if strategy.num_replicas_in_sync == 1:
        return range(1)
    count = len(strategy.extended.worker_devices)
    is_distributed = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    first = cluster().index * count if is_distributed else 0
    return range(first, first + count)


def _split_cpu(count: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        # Fewer threads per operation: otherwise parallel devices would compete for them.
        tf.config.threading.set_intra_op_parallelism_threads(max(1, num_cores() // count))
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    except RuntimeError:  # TensorFlow is already in use, and its devices are fixed
        if len(tf.config.list_logical_devices("CPU")) != count:
            raise ConfigError(
                "the CPU can no longer be split in this process",
                key="logical_devices",
                expected="a new process",
                received="a process in which TensorFlow is already in use",
                remedy="Start the runtime before anything else uses TensorFlow.",
            ) from None
