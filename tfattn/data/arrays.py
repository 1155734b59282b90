"""Arrays among the results of units, read as a whole, or only those rows that are asked for."""

import io
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tfattn.data.results import Result, each
from tfattn.files import PackedPath

# An array's header is a Python literal, and Python 3.11 may fail where two threads parse one each (cpython#106905).
_one_header_at_a_time = threading.Lock()


def load(path: Result) -> np.ndarray:
    """Read an array as a whole.

    Raises:
        OSError: there is no such file.
        EOFError, ValueError: it is damaged.
    """
    with path.open("rb") as file:
        source = file if isinstance(path, Path) else io.BytesIO(file.read())
        with _one_header_at_a_time:
            return np.load(source, allow_pickle=False)


def joined(paths: Sequence[Result]) -> np.ndarray:
    """Read arrays, one at least, and join their rows; raises as `load`."""
    return np.concatenate(each(load, paths, location=paths[0]))


def opened(path: Result) -> "np.ndarray | Rows":
    """Open an array of which only what is taken out by a number or a slice is read; raises as `load`."""
    if not isinstance(path, Path):
        return Rows(path)
    with _one_header_at_a_time:
        return np.load(path, mmap_mode="r", allow_pickle=False)


class Rows:
    """The rows of an array at an address, as far as slices of an array that is mapped into memory have them.

    Args:
        path: what `np.save` wrote, row after row.
    """

    def __init__(self, path: PackedPath):
        self._path = path
        with path.open("rb") as file, _one_header_at_a_time:
            np.lib.format.read_magic(file)
            shape, is_by_columns, self._dtype = np.lib.format.read_array_header_1_0(file)
            self._begin = file.tell()
        assert len(shape) == 1 or not is_by_columns, "results are saved row after row"
        self._rows, self._shape = shape[0], shape[1:]

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index: int | slice) -> np.ndarray:
        if not isinstance(index, slice):
            return self[index : index + 1][0]
        first, last, step = index.indices(self._rows)
        assert step == 1, "rows are read one behind the other"
        count, size = max(last - first, 0), int(np.prod(self._shape, dtype=int)) * self._dtype.itemsize
        with self._path.open("rb") as file:
            file.seek(self._begin + first * size)
            data = file.read(count * size)
        if len(data) != count * size:
            raise EOFError(f"{self._path} ends too soon")
        return np.frombuffer(data, self._dtype).reshape(count, *self._shape)
