"""Plain arrays in HDF5 files, such as the weights of KerasHub presets.

Loading such a file as a Keras model could run code.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tfattn.errors import CheckpointError

WEIGHTS = "model.weights.h5"


def shapes(folder: Path, file_name: str = WEIGHTS) -> dict[str, tuple[int, ...]]:
    """Read the shapes of all arrays, by name.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    found = {}

    def visit(name: str, item: Any) -> None:
        # A virtual or external dataset names another file to read from.
        if isinstance(item, h5py.Dataset) and not item.is_virtual and not item.external:
            found[name] = item.shape

    with _open(folder / file_name) as file:
        file.visititems(visit)
    return found


def arrays(folder: Path, names: Iterable[str], file_name: str = WEIGHTS) -> dict[str, np.ndarray]:
    """Read some arrays, by name.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    with _open(folder / file_name) as file:
        return {name: np.asarray(file[name]) for name in names}


@contextmanager
def _open(path: Path) -> Iterator[h5py.File]:
    if not path.is_file():
        raise CheckpointError("a file is missing", where=str(path.parent), expected=path.name)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except OSError as error:
        raise CheckpointError(f"cannot be read as HDF5 ({error})", where=str(path)) from None
