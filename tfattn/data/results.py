"""Results of units, which stand on a disk or at an address until all is done.

Each has a name in the folder of its step, and stands there as a whole or not at all: on a disk as a folder, which is
renamed when it is complete, and at an address as one packed file. It is written in a folder of this machine either way.
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

Folder = Path | RemotePath  # where results stand
Result = Path | PackedPath  # one of them, or a file or folder in it, to be read
Read = TypeVar("Read")

REQUESTS_AT_ONCE = 16  # to an address: each takes a while to be answered


@contextlib.contextmanager
def result(folder: Folder, name: str) -> Iterator[Path]:
    """Yield a new folder of this machine, which becomes the result of this name when the block ends well."""
    with files.disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder if isinstance(folder, Path) else None, prefix="."))
        try:
            yield new
            if (folder / name).exists():  # an engine may have had it done twice
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
    """List the names of the results that stand in a folder."""
    with files.disk_errors(folder):
        return {path.name for path in folder.iterdir()} if folder.exists() else set()


def opened(folder: Folder, name: str) -> Result:
    """Open a result to read its files.

    Raises, on a disk not before a file is read:
        OSError: there is none.
        ValueError: it is damaged.
    """
    return folder / name if isinstance(folder, Path) else PackedPath.of(folder / name)


def each(read: Callable[[Any], Read], found: Sequence[Any], *, location: Folder | Result) -> list[Read]:
    """Read a lot of files or results, in their order; at an address several at once.

    Args:
        read: reads one.
        found: all of them.
        place: where they stand, or one of them.
    """
    if isinstance(location, Path):
        return [read(one) for one in found]
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as requests:
        return list(requests.map(read, found))


def all_opened(folder: Folder, names: Sequence[str]) -> list[Result]:
    """Open a lot of results, as `opened` does one."""
    return each(partial(opened, folder), names, location=folder)


@contextlib.contextmanager
def on_disk(found: Result) -> Iterator[Path]:
    """Yield a result, or a folder in it, as a folder of this machine."""
    if isinstance(found, Path):
        yield found
        return
    with tempfile.TemporaryDirectory() as folder:
        found.unpack(Path(folder))
        yield Path(folder)


def copy(found: Result, folder: Path) -> None:
    """Bring the files of a result, which has no folders, into a folder of this machine; on one disk as links."""
    if isinstance(found, PackedPath):
        found.unpack(folder)
        return
    for path in found.iterdir():
        try:
            os.link(path, folder / path.name)
        except OSError:  # another disk, or one that knows no links
            shutil.copyfile(path, folder / path.name)


def remove(folder: Folder) -> None:
    """Remove a folder with all results in it, if it is there."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    elif folder.exists():
        folder.rmtree()


@contextlib.contextmanager
def reading(folder: Folder) -> Iterator[None]:
    """Say plainly that the results of a step are missing or damaged.

    Raises:
        DataError: one of them is missing or damaged.
    """
    try:
        yield
    except (FileNotFoundError, EOFError, ValueError) as error:
        raise DataError(
            "what is done already has been damaged",
            where=str(getattr(error, "filename", None) or folder),
            received=str(getattr(error, "strerror", None) or error),
            remedy="Run the same command again: it begins anew.",
        ) from None
