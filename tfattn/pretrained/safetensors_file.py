"""Tensors in the safetensors file of a Hugging Face folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 (registers bfloat16 in NumPy; most decoders are published in it)
import numpy as np
from safetensors import SafetensorError, safe_open

from tfattn.errors import CheckpointError

WEIGHTS = "model.safetensors"


def shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """Read the shapes of all tensors, by name.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    with _open(folder) as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def tensors(folder: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Read some tensors, by name.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    with _open(folder) as file:
        return {name: file.get_tensor(name) for name in names}


@contextmanager
def _open(folder: Path) -> Iterator[Any]:
    path = folder / WEIGHTS
    if not path.is_file():
        raise _missing(folder)
    try:
        with safe_open(path, framework="np") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"cannot be read as safetensors ({error})", where=str(path)) from None


def _missing(folder: Path) -> CheckpointError:
    others = sorted(file.name for pattern in ("*.bin", "*.safetensors") for file in folder.glob(pattern))
    remedy = ""
    if any(name.endswith(".bin") for name in others):
        remedy = (
            "Pickled weights can run code and are never read; save the model again with transformers: "
            "model.save_pretrained(folder, safe_serialization=True)."
        )
    elif others:
        remedy = "Save the model again with transformers, in one file: model.save_pretrained(folder)."
    return CheckpointError(
        "a file is missing", where=str(folder), expected=WEIGHTS, received=", ".join(others), remedy=remedy
    )
