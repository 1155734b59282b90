"""Checkpoints of TensorFlow, read tensor by tensor; no graph is loaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tfattn.errors import CheckpointError


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Open a checkpoint: yield what has `get_variable_to_shape_map` and `get_tensor`.

    Args:
        path: of its files, without their suffixes.

    Raises:
        CheckpointError: a file is broken.
    """
    import tensorflow as tf  # not above: the sizes of a model are read without it

    try:
        yield tf.train.load_checkpoint(str(path))
    except (tf.errors.OpError, RuntimeError, ValueError, LookupError) as error:
        raise CheckpointError(f"cannot be read as a TensorFlow checkpoint ({error})", where=str(path)) from None
