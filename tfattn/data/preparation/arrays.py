"""Arrays in the results of units, read as a whole or row by row."""

import io
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfattn.data.engines.results import Result, each
from tfattn.files import PackedPath

# The header of an array is a Python literal, and Python 3.11 may fail to parse two at once (cpython#106905).
_header_lock = threading.Lock()


def load(path: Result) -> np.ndarray:
    """Read a whole array.

    Raises:
        OSError: there is no such file.
        EOFError, ValueError: the file is damaged.
    """
    with path.open("rb") as file:
        source = file if isinstance(path, Path) else io.BytesIO(file.read())
        with _header_lock:
            return np.load(source, allow_pickle=False)


def concatenate(paths: Sequence[Result]) -> np.ndarray:
    """Read at least one array and concatenate the rows; raises as `load`."""
    return np.concatenate(each(load, paths, location=paths[0]))


def opened(path: Result) -> "np.ndarray | Rows":
    """Open an array for lazy reading by index or slice; raises as `load`."""
    if not isinstance(path, Path):
        return Rows(path)
    with _header_lock:
        return np.load(path, mmap_mode="r", allow_pickle=False)


class Rows:
    """A lazily read array at a remote address, with indexing by row and by slice as for a memory-mapped array.

    Args:
        path: a file of `np.save`, in row-major order.
    """

    def __init__(self, path: PackedPath):
        self._path = path
        with path.open("rb") as file, _header_lock:
            np.lib.format.read_magic(file)
            shape, is_by_columns, self._dtype = np.lib.format.read_array_header_1_0(file)
            self._begin = file.tell()
        assert len(shape) == 1 or not is_by_columns, "results are saved in row-major order"
        self._rows, self._shape = shape[0], shape[1:]

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index: int | slice) -> np.ndarray:
        if not isinstance(index, slice):
            return self[index : index + 1][0]
        first, last, step = index.indices(self._rows)
        assert step == 1, "only slices of step 1 are supported"
        count, size = max(last - first, 0), int(np.prod(self._shape, dtype=int)) * self._dtype.itemsize
        with self._path.open("rb") as file:
            file.seek(self._begin + first * size)
            data = file.read(count * size)
        if len(data) != count * size:
            raise EOFError(f"{self._path} ends too soon")
        return np.frombuffer(data, self._dtype).reshape(count, *self._shape)
