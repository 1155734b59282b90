"""Results of units: intermediate files on a disk or at a remote address until preparation is done.

A result has a name in the folder of its step and appears atomically: on a disk as a folder that is renamed when it is
complete, at a remote address as one packed file. Results are first written to a local folder in both cases.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tfattn import files
from tfattn.errors import DataError
from tfattn.files import PackedPath, RemotePath

Folder = Path | RemotePath  # the folder of results
Result = Path | PackedPath  # a result, or a file or folder in it
Read = TypeVar("Read")

MAX_CONCURRENT_REQUESTS = 16  # to a remote address, where latency dominates


@contextlib.contextmanager
def result(folder: Folder, name: str) -> Iterator[Path]:
    """Yield a new local folder, which becomes the result `name` when the block succeeds."""
    with files.disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder if isinstance(folder, Path) else None, prefix="."))
        try:
            yield new
            if (folder / name).exists():  # an engine may run a unit twice
                return
            if isinstance(folder, Path):
                new.rename(folder / name)
            else:
                with tempfile.NamedTemporaryFile() as packed:
                    files.pack(new, Path(packed.name))
                    (folder / name).upload(Path(packed.name))
        finally:
            shutil.rmtree(new, ignore_errors=True)


def done(folder: Folder) -> set[str]:
    """List the names of the results in a folder."""
    with files.disk_errors(folder):
        return {path.name for path in folder.iterdir()} if folder.exists() else set()


def opened(folder: Folder, name: str) -> Result:
    """Open a result to read its files.

    Raises, on a disk only when a file is read:
        OSError: the result does not exist.
        ValueError: the result is damaged.
    """
    return folder / name if isinstance(folder, Path) else PackedPath.of(folder / name)


def each(read: Callable[[Any], Read], found: Sequence[Any], *, location: Folder | Result) -> list[Read]:
    """Read many files or results in order; concurrently at a remote address.

    Args:
        read: reads an element of `found`.
        found: files or results.
        location: their folder, or one of them.
    """
    if isinstance(location, Path):
        return [read(path) for path in found]
    with ThreadPoolExecutor(MAX_CONCURRENT_REQUESTS) as requests:
        return list(requests.map(read, found))


def all_opened(folder: Folder, names: Sequence[str]) -> list[Result]:
    """Open many results, see `opened`."""
    return each(partial(opened, folder), names, location=folder)


@contextlib.contextmanager
def on_disk(found: Result) -> Iterator[Path]:
    """Yield a result, or a folder in it, as a local folder."""
    if isinstance(found, Path):
        yield found
        return
    with tempfile.TemporaryDirectory() as folder:
        found.unpack(Path(folder))
        yield Path(folder)


def copy(found: Result, folder: Path) -> None:
    """Copy the files of a flat result into a local folder; as hard links on the same disk."""
    if isinstance(found, PackedPath):
        found.unpack(folder)
        return
    for path in found.iterdir():
        try:
            os.link(path, folder / path.name)
        except OSError:  # another disk, or a disk without hard links
            shutil.copyfile(path, folder / path.name)


def remove(folder: Folder) -> None:
    """Remove a folder with all results in it, if it exists."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    elif folder.exists():
        folder.rmtree()


@contextlib.contextmanager
def reading(folder: Folder) -> Iterator[None]:
    """Convert errors of missing or damaged results of a step.

    Raises:
        DataError: a result is missing or damaged.
    """
    try:
        yield
    except (FileNotFoundError, EOFError, ValueError) as error:
        raise DataError(
            "what is done already has been damaged",
            where=str(getattr(error, "filename", None) or folder),
            received=str(getattr(error, "strerror", None) or error),
            remedy="Run the same command again: it restarts from the start.",
        ) from None
