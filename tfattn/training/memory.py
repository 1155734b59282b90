"""How much memory a task takes, told by the shapes of its weights before any of it is taken."""

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
# Where a control group keeps the most memory that its processes may have: in version 2, and in version 1.
LIMITS = {"": ("sys/fs/cgroup", "memory.max"), "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes")}


def outline(make: Callable[[], T]) -> T:
    """Makes a model or a task whose weights have shapes but no values, and so take no memory.

    What cannot be made without values, because a variable begins as an array, has them.

    Args:
        make: constructs it.
    """
    state = random.getstate()  # Keras draws seeds there: what is made later begins as it would without an outline
    try:
        # In a thread of its own: Keras remembers in each thread which variables still want a value.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_without_values, make).result()
    except ValueError:
        return make()
    finally:
        random.setstate(state)


def check_memory(task: Task, *, copies: int, sizes: Mapping[str, int]) -> None:
    """Refuses a task that this machine's memory cannot hold.

    What it computes takes memory besides: what is refused never fits, what passes may still be too large. A GPU's
    memory is only known once it is taken, so nothing is refused where there is one: see `telling_out_of_memory`.

    Args:
        task: with values or without.
        copies: how many numbers are kept for each trained weight: itself, its gradient, those of the optimizer.
        sizes: the configuration's numbers by their keys, of which one that makes the largest weight is to be lowered.

    Raises:
        ConfigError: with what it takes, what there is, and the key to lower.
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
    """Within the block, TensorFlow's error about memory that it does not get becomes one clear message."""
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
    """The bytes of memory that this process may have: the machine's, or fewer where its control groups say so.

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
            # A group is bound by those around it. In a container the path may be the host's: then the top's counts.
            folder = root / top / path.lstrip("/")
            files = (place / name for place in (folder, *folder.parents))
            yield from (int(text) for file in files if file.is_file() and (text := file.read_text().strip()).isdigit())


def _gib(count: int) -> str:
    return f"{count / GIB:,.1f} GiB"
