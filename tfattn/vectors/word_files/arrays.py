"""Word vectors as a NumPy array, with the words in a Parquet file next to it."""

from pathlib import Path

import numpy as np

from tfattn.errors import ConfigError, DataError
from tfattn.vectors.word_files.table import Table
from tfattn.vectors.word_vectors import WordVectors

ARRAY, WORDS = "*.npy", "*.parquet"


def is_array_folder(path: Path) -> bool:
    """Return whether a folder has an array and its words."""
    return path.is_dir() and all(len(list(path.glob(pattern))) == 1 for pattern in (ARRAY, WORDS))


def read_arrays(folder: Path) -> WordVectors:
    """Read a folder.

    Args:
        folder: a folder that `is_array_folder`.

    Raises:
        ConfigError: pyarrow is not installed.
        DataError: a file is damaged, or the files do not match.
    """
    array, words = _array(folder), _words(folder)
    if len(words) != len(array):
        raise DataError(
            "the words and vectors do not match",
            where=str(folder),
            expected=f"a word for each of {len(array):,} vectors",
            received=f"{len(words):,} words",
        )
    table = Table(str(folder), array.shape[1])
    table.add([word.encode("utf-8") for word in words], np.asarray(array, "float32"))
    return table.word_vectors()


def array_width(folder: Path) -> int:
    """Return the dimension of the vectors without reading them; errors as `read_arrays`."""
    return _array(folder).shape[1]


def _array(folder: Path) -> np.ndarray:
    (path,) = folder.glob(ARRAY)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read as an array ({error})", where=str(path)) from None
    if array.ndim != 2 or array.dtype.kind != "f":
        received = f"shape {array.shape} of {array.dtype}"
        raise DataError(
            "no word vectors", where=str(path), expected="an array (words, numbers) of floats", received=received
        )
    return array


def _words(folder: Path) -> list[str]:
    (path,) = folder.glob(WORDS)
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ConfigError(
            "the package pyarrow, which reads the words, is not installed",
            where=str(path),
            remedy="Run: pip install 'tfattn[parquet]'",
        ) from None
    try:
        table = pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"cannot be read as Parquet ({error})", where=str(path)) from None
    columns = [table.column(name) for name in table.column_names]
    texts = [column for column in columns if pyarrow.types.is_string(column.type) and not column.null_count]
    if len(texts) != 1:
        raise DataError(
            "no words", where=str(path), expected="one column of texts", received=", ".join(table.column_names)
        )
    return texts[0].to_pylist()
