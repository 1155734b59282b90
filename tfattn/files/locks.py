"""Locks on folders, and the hidden staging folders in which files are written.

A writer holds a lock in its staging folder. The system releases the lock when the process ends: so a staging folder
with a free lock is a leftover of a killed process, and the next writer in the same folder removes it.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tfattn.errors import TfattnError
from tfattn.files.remote import RemotePath, path_of

LOCK = ".lock"  # in a staging folder
UNFINISHED = ".unfinished"

_CUT_ARRAY = re.compile(r"\d+ requested and \d+ written")
_UNWRITABLE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EEXIST,  # a file has the name of the folder
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
)


@contextlib.contextmanager
def lock(folder: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder until the block or the process ends, and remove leftovers of killed processes.

    The lock is a hidden file next to the folder: the content of the folder stays as its readers expect it.

    Args:
        folder: the folder, which need not exist yet.
        wait: whether to wait for another process that holds the lock.

    Raises:
        TfattnError: another process holds the lock.
    """
    folder = Path(folder)
    with disk_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = open(_lock_file(folder), "a+")  # noqa: SIM115 (held until the block ends, in `with` below)
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TfattnError(
                "another process is at work in this folder",
                where=str(folder),
                remedy="Wait until it ends, or give this run another `name`.",
            ) from None
        remove_leftovers(folder)
        yield


def is_locked(folder: str | Path) -> bool:
    """Return whether another process holds the lock of a folder."""
    file = _lock_file(Path(folder))
    if not file.exists():
        return False
    with file.open("a+") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


@contextlib.contextmanager
def staging_folder(target: Path) -> Iterator[Path]:
    """Create a hidden folder next to a target, and remove it with its content when the block ends."""
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target.parent)
    acquired = None
    while acquired is None:  # another process may have removed the folder as a leftover before it was locked
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=UNFINISHED))
        acquired = _acquire(folder)
    with acquired:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(folder: str | Path) -> None:
    """Remove the staging folders in a folder whose processes have ended."""
    for leftover in Path(folder).glob(f".*{UNFINISHED}"):
        with contextlib.suppress(OSError):
            acquired = _acquire(leftover)
            if acquired is not None:
                with acquired:
                    shutil.rmtree(leftover, ignore_errors=True)


@contextlib.contextmanager
def disk_errors(target: Path | RemotePath) -> Iterator[None]:
    """Convert errors of disks and addresses within the block into a TfattnError with a remedy.

    Raises:
        TfattnError: the disk is full, the target is not writable, or an operation at an address failed.
    """
    try:
        yield
    except Exception as error:
        # TensorFlow, safetensors and numpy have their own errors, whose message is the only sign of a full disk.
        is_full = os.strerror(errno.ENOSPC) in str(error) or _CUT_ARRAY.fullmatch(str(error))
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or is_full:
            remedy = "Free some space, or choose another folder; existing files are unchanged."
            raise TfattnError("no space left on the disk", where=str(target), remedy=remedy) from None
        if getattr(error, "errno", None) in _UNWRITABLE:
            what = f"cannot write here ({os.strerror(error.errno)})"
            raise TfattnError(what, where=str(target), remedy="Choose a writable folder.") from None
        if isinstance(error, OSError) and isinstance(path_of(str(error.filename)), RemotePath):
            remedy = "Check the address, and the permissions to read and write there."
            raise TfattnError(f"the address fails ({error.strerror})", where=error.filename, remedy=remedy) from None
        raise


def _lock_file(folder: Path) -> Path:
    folder = folder.absolute()
    return folder.with_name(f".{folder.name}.flock")


def _acquire(folder: Path) -> IO[str] | None:
    """Lock a staging folder and return the open lock file; None if another process holds it or has removed it."""
    try:
        file = open(folder / LOCK, "a+")  # noqa: SIM115 (the caller closes it)
    except FileNotFoundError:
        return None
    with contextlib.ExitStack() as closing:
        closing.enter_context(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if os.fstat(file.fileno()).st_nlink == 0:
            return None
        closing.pop_all()
    return file
