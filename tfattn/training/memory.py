"""Memory checks: the memory that a task needs, computed from the shapes of its weights before allocation."""

import math
import os
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import keras
import tensorflow as tf

from tfattn.errors import ConfigError, TrainingError
from tfattn.tasks.task import Task

T = TypeVar("T")

BYTES = 4  # of a number: weights, slots and averages are float32, independent of the precision of layers
GIB = 2**30
# The files with the memory limits of control groups, of version 2 and of version 1.
LIMITS = {"": ("sys/fs/cgroup", "memory.max"), "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes")}


def build_without_values(make: Callable[[], T]) -> T:
    """Build a model or a task whose weights have shapes but no values, and take no memory.

    If a variable is initialized with an array, all weights have values.

    Args:
        make: constructs the model or task.

    Returns:
        what `make` returns.
    """
    state = random.getstate()  # Keras draws seeds from it: later models must not depend on this build
    try:
        # In a separate thread: Keras remembers in each thread which variables still need a value.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_without_values, make).result()
    except ValueError:
        return make()
    finally:
        random.setstate(state)


def check_memory(task: Task, *, copies: int, sizes: Mapping[str, int]) -> None:
    """Check that the weights of a task fit into this machine's memory.

    Activations need additional memory, so a task that passes may still be too large. The memory of a GPU is unknown
    before allocation: with a GPU every task passes, see `report_out_of_memory`.

    Args:
        task: a task, with or without values.
        copies: the number of values that are kept for each trained weight: weight, gradient and slots.
        sizes: the sizes in the configuration by key; the error suggests a key to lower.

    Raises:
        ConfigError: the weights do not fit; with the required and available memory, and the key to lower.
    """
    parameters, trained = sum(map(_count, task.weights)), sum(map(_count, task.trainable_weights))
    needed, memory = BYTES * (parameters + (copies - 1) * trained), available()
    if needed <= memory or tf.config.get_visible_devices("GPU"):
        return
    largest = max(task.weights, key=_count)
    # An axis may hold several parts: gates, queries with keys and values, sines with cosines.
    axes = {axis / parts for axis in largest.shape for parts in (1, 2, 3, 4)}
    key = max((key for key, size in sizes.items() if size in axes), key=sizes.get, default="")
    raise ConfigError(
        "the model is too large for this machine",
        key=key or "model",
        expected=f"at most its {_gib(memory)} of memory",
        received=f"{parameters:,} parameters: {_gib(BYTES * parameters)} of weights, {_gib(needed)} to train them; the "
        f"largest of {len(task.weights)} is {largest.path} {tuple(largest.shape)}",
        remedy=f"Lower `{key}`." if key else "Choose smaller sizes.",
    )


@contextmanager
def report_out_of_memory() -> Iterator[None]:
    """Convert TensorFlow's out-of-memory errors within the block into a TrainingError with a remedy.

    Raises:
        TrainingError: there is not enough memory.
    """
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        if "alloc" not in str(error):  # the disk is full
            raise
        raise TrainingError(
            "there is not enough memory",
            received=str(error).splitlines()[0].rpartition("}} ")[2],  # without the name of the graph
            remedy="Lower `data.batching`, or raise `training.accumulation`, which divides a batch into parts; or "
            "use a smaller model.",
        ) from None


def available(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process may use: the machine's, or the limit of its control groups.

    Args:
        root: the folder of proc/ and sys/.
    """
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits(root)])


def _count(variable: keras.Variable) -> int:
    return math.prod(variable.shape)


def _without_values(make: Callable[[], T]) -> T:
    with keras.StatelessScope(initialize_variables=False):
        return make()


def _limits(root: Path) -> Iterator[int]:
    groups = root / "proc/self/cgroup"
    for line in groups.read_text().splitlines() if groups.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if controllers in LIMITS:
            top, name = LIMITS[controllers]
            # Limits of parent groups apply too. In a container the path may be the host's: then the top's applies.
            folder = root / top / path.lstrip("/")
            files = (parent / name for parent in (folder, *folder.parents))
            yield from (int(text) for file in files if file.is_file() and (text := file.read_text().strip()).isdigit())


def _gib(count: int) -> str:
    return f"{count / GIB:,.1f} GiB"
