"""The memory that a task needs, computed from the shapes of its weights before any of it is allocated."""

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

BYTES = 4  # of a number: weights and all that is kept of them are float32, whatever layers compute in
GIB = 2**30
# The files with the memory limits of control groups, of version 2 and of version 1.
LIMITS = {"": ("sys/fs/cgroup", "memory.max"), "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes")}


def outline(make: Callable[[], T]) -> T:
    """Make a model or a task whose weights have shapes but no values, and so take no memory.

    One that cannot be made without values, because a variable is initialized with an array, has them.

    Args:
        make: constructs the model or task.

    Returns:
        what `make` returns.
    """
    state = random.getstate()  # Keras draws seeds from it: later models are initialized as without an outline
    try:
        # In a separate thread: Keras remembers in each thread which variables still need a value.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_without_values, make).result()
    except ValueError:
        return make()
    finally:
        random.setstate(state)


def check_memory(task: Task, *, copies: int, sizes: Mapping[str, int]) -> None:
    """Refuse a task whose weights this machine's memory cannot hold.

    Activations need memory besides: a task that is refused never fits, one that passes may still be too large. A GPU's
    memory is only known once it is allocated, so nothing is refused where there is one: see `telling_out_of_memory`.

    Args:
        task: with values or without.
        copies: the number of values that are kept for each trained weight: itself, its gradient, the optimizer's.
        sizes: the configuration's numbers by their keys, one of which the error asks to lower.

    Raises:
        ConfigError: names the memory that is needed and that there is, and the key to lower.
    """
    parameters, trained = sum(map(_count, task.weights)), sum(map(_count, task.trainable_weights))
    needed, there_are = BYTES * (parameters + (copies - 1) * trained), available()
    if needed <= there_are or tf.config.list_physical_devices("GPU"):
        return
    largest = max(task.weights, key=_count)
    # Gates, queries with keys and values, sines with cosines stand side by side on an axis.
    axes = {axis / parts for axis in largest.shape for parts in (1, 2, 3, 4)}
    key = max((key for key, size in sizes.items() if size in axes), key=sizes.get, default="")
    raise ConfigError(
        "the model is too large for this machine",
        key=key or "model",
        expected=f"at most its {_gib(there_are)} of memory",
        received=f"{parameters:,} parameters: {_gib(BYTES * parameters)} of weights, {_gib(needed)} to train them; the "
        f"largest of {len(task.weights)} is {largest.path} {tuple(largest.shape)}",
        remedy=f"Lower `{key}`." if key else "Choose smaller sizes.",
    )


@contextmanager
def telling_out_of_memory() -> Iterator[None]:
    """Turn TensorFlow's error about missing memory within the block into a clear one.

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
            received=str(error).splitlines()[0].rpartition("}} ")[2],  # without the name of a graph
            remedy="Lower `data.batching`, or raise `training.accumulation`, which divides a batch into parts; else "
            "take a smaller model.",
        ) from None


def available(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process may use: the machine's, or the limit of its control groups.

    Args:
        root: where proc/ and sys/ stand.
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
            # A group is limited by those around it. In a container the path may be the host's: then the top's counts.
            folder = root / top / path.lstrip("/")
            files = (place / name for place in (folder, *folder.parents))
            yield from (int(text) for file in files if file.is_file() and (text := file.read_text().strip()).isdigit())


def _gib(count: int) -> str:
    return f"{count / GIB:,.1f} GiB"
