"""Tensors in TensorFlow checkpoints, read without a graph."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tfattn.errors import CheckpointError


@contextmanager
def open_checkpoint(path: Path) -> Iterator[Any]:
    """Open a checkpoint, and yield a reader with `get_variable_to_shape_map` and `get_tensor`.

    Args:
        path: the path of the files, without suffixes.

    Raises:
        CheckpointError: a file is damaged.
    """
    import tensorflow as tf  # imported here: the sizes of a model are read without TensorFlow

    try:
        yield tf.train.load_checkpoint(str(path))
    except (tf.errors.OpError, RuntimeError, ValueError, LookupError) as error:
        raise CheckpointError(f"cannot be read as a TensorFlow checkpoint ({error})", where=str(path)) from None
