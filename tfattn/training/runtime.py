"""The devices of training, the strategy by which they share weights, and the precision."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal

import tensorflow as tf
from pydantic import NonNegativeInt, PositiveInt

from tfattn.config.relations import NotWith, OnlyWith
from tfattn.errors import ConfigError, TrainingError
from tfattn.training.cluster import cluster
from tfattn.training.compiled import compiled
from tfattn.training.precision import computing_in, fastest

# Environment variables that TensorFlow and oneDNN read at their start; values that a user has set are kept.
SETTINGS = {
    # Compiled products are cached by shape, and batches have hundreds: with oneDNN's 1,024 most are compiled again.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "16384",
    # Tensors of ever new sizes are allocated in TensorFlow's own arena: malloc would take a tenth of a step for them.
    "TF_CPU_ALLOCATOR_USE_BFC": "1",
}
# The errors of TensorFlow's collectives when a process that takes part in them is gone.
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.InternalError,
)


class Runtime:
    """The devices of a run: one, several that mirror the weights, or those of several worker processes.

    `strategy: auto` uses what it finds: worker processes where the environment variable TF_CONFIG names more than one,
    else every GPU, else the CPU, whole or split. The rows of a batch and the result of a step do not depend on it.

    Args:
        precision: the precision of layers; weights, sums and losses are always kept in float32. `auto` is bfloat16
            where this machine is faster in it, else float32. float16 is for GPUs without bfloat16: its losses are
            scaled, so that small gradients do not underflow.
        strategy: `one_device`, `mirrored` (all devices of this machine), `multi_worker` (the processes that TF_CONFIG
            names), or `auto`.
        logical_devices: the number of devices into which the CPU is split, which share its cores and the rows of a
            batch; 0 keeps it whole. `cores` makes one per core, at most four, where there is no GPU: 1.5 times as fast
            for models whose operations are too small to keep several cores busy.
        threads: the number of threads that share an operation; null for one per core. One is faster where operations
            are so small that to divide them takes longer, as those of word vectors.

    Attributes:
        chosen_precision, reason: the precision of layers and the reason for it, after `start`.
        strategy: TensorFlow's, after `start`.
        local_replicas: the numbers of the replicas that this process computes, after `start`.

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
        logical_devices: Annotated[
            NonNegativeInt | Literal["cores"], OnlyWith("strategy", values=("auto", "mirrored"))
        ] = 0,
        threads: Annotated[PositiveInt | None, NotWith("logical_devices")] = None,
    ):
        self.precision = precision
        self.strategy_name = strategy
        self.logical_devices = logical_devices
        self.threads = threads

    def start(self) -> "Runtime":
        """Set up the devices and choose the precision; call it before any other use of TensorFlow in the process.

        It also sets the environment variables of `SETTINGS` that are not set.
        """
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        configured = (self.precision, "as configured")
        self.chosen_precision, self.reason = fastest() if self.precision == "auto" else configured
        if self.threads:
            with suppress(RuntimeError):  # TensorFlow is in use in this process: it is only slower
                tf.config.threading.set_intra_op_parallelism_threads(self.threads)
        self.strategy = self._make_strategy()
        self.local_replicas = _local_replicas(self.strategy)
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open the block in which models, and all else that has variables, are built for these devices."""
        with computing_in(self.chosen_precision), self.strategy.scope():
            yield

    @property
    def num_replicas(self) -> int:
        """The number of parts of a batch, over all devices of all workers."""
        return self.strategy.num_replicas_in_sync

    @property
    def num_workers(self) -> int:
        """The number of processes that train together."""
        return self.num_replicas // len(self.local_replicas)

    @property
    def is_chief(self) -> bool:
        """Whether this process is the one that writes files: the only one, or the first that TF_CONFIG names."""
        return cluster().is_chief

    def read(
        self, reader: Any, epoch: int, *, start: int = 0, accumulation: int = 1, updates: int = 1
    ) -> tf.data.Dataset:
        """Read the batches of an epoch from number `start` on, each as one element per replica of this process."""
        return reader.dataset(
            epoch,
            start=start,
            replicas=self.num_replicas,
            accumulation=accumulation,
            updates=updates,
            local=self.local_replicas,
        )

    def next(self, iterator: Any) -> Any:
        """Take the next batch, in the graph, in the form that `strategy.run` takes.

        The iterator is a plain one, not TensorFlow's distributed one, which asks all workers before every batch whether
        they still have rows: the workers' readers have equally many batches.
        """
        return self.strategy.experimental_distribute_values_from_function(lambda context: next(iterator))

    def run(self, function: Callable, *arguments: Any) -> Any:
        """Run a function once per replica, in the graph; return the result of the first replica of this process."""
        return tf.nest.map_structure(
            lambda value: self.strategy.experimental_local_results(value)[0],
            self.strategy.run(function, args=arguments),
        )

    def agree(self, number: int) -> bool:
        """Wait for all workers, and tell whether all of them have the same number."""
        if self.num_workers == 1:
            return True
        return float(self._sum(tf.constant(float(number), tf.float64))) == number * self.num_replicas

    @contextmanager
    def telling_lost_workers(self) -> Iterator[None]:
        """Turn TensorFlow's errors about a lost worker within the block into a clear one.

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
                remedy="Start all workers again: they go on from the last checkpoint.",
            ) from None

    @functools.cached_property
    def _sum(self) -> Callable:
        """A function that sums a number over all replicas."""

        def of_replica(value):  # copied, because a collective reads its device, and an argument has none yet
            return tf.distribute.get_replica_context().all_reduce("SUM", tf.identity(value))

        return compiled(lambda value: self.run(of_replica, value))

    def _make_strategy(self) -> tf.distribute.Strategy:
        gpus = tf.config.list_physical_devices("GPU")
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
                    "no workers are named",
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
        # The default of CPUs is a ring of collectives, which a loop inside a graph may start out of order.
        return tf.distribute.MirroredStrategy(names, cross_device_ops=tf.distribute.ReductionToOneDevice())


def num_cores() -> int:
    """Return the number of the processor's cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _local_replicas(strategy: tf.distribute.Strategy) -> range:
    if strategy.num_replicas_in_sync == 1:
        return range(1)
    count = len(strategy.extended.worker_devices)
    together = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    first = cluster().index * count if together else 0
    return range(first, first + count)


def _split_cpu(count: int) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        # The threads of one operation: devices that work at the same time would otherwise wait for each other's.
        tf.config.threading.set_intra_op_parallelism_threads(max(1, num_cores() // count))
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    except RuntimeError:  # TensorFlow is in use in this process, so its devices are fixed
        if len(tf.config.list_logical_devices("CPU")) != count:
            raise ConfigError(
                "the CPU can no longer be split in this process",
                key="logical_devices",
                expected="a fresh process",
                received="one in which TensorFlow is already in use",
                remedy="Start the runtime before anything else uses TensorFlow.",
            ) from None
