"""Locks on folders, and the hidden workplaces in which files are written.

A writer holds a lock in its workplace. The system frees it when the process ends in any way: so a workplace whose lock
is free was left behind by a process that was killed, and the next writer beside it removes it.
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

LOCK = ".lock"
UNFINISHED = ".unfinished"

_CUT_ARRAY = re.compile(r"\d+ requested and \d+ written")
_UNWRITABLE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.EEXIST,  # a file stands where a folder would be made
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
)


@contextlib.contextmanager
def lock(folder: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a folder for this process until the block or the process ends; remove what killed ones left unfinished.

    Args:
        folder: made if it does not exist.
        wait: whether to wait for another process that holds it.

    Raises:
        TfattnError: another process holds it.
    """
    folder = Path(folder)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / LOCK, "a+")  # noqa: SIM115 (held until the block ends, in `with` below)
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


@contextlib.contextmanager
def workplace(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside a target, on the same disk, which is removed with its content when the block ends."""
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target.parent)
    held = None
    while held is None:  # another process may have taken it for a leftover before it was held
        place = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=UNFINISHED))
        held = _hold(place)
    with held:
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def remove_leftovers(folder: str | Path) -> None:
    """Remove the workplaces in a folder whose processes have ended."""
    for place in Path(folder).glob(f".*{UNFINISHED}"):
        with contextlib.suppress(OSError):
            held = _hold(place)
            if held is not None:
                with held:
                    shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def disk_errors(target: Path | RemotePath) -> Iterator[None]:
    """Turn errors of the block into plain ones where a disk is full, a folder not writable or an address out of reach.

    Raises:
        TfattnError: there is no space, or no permission to write; names the target. Or what an address is asked for
            fails; names it, and TensorFlow's reason.
    """
    try:
        yield
    except Exception as error:
        # TensorFlow, safetensors and numpy raise errors of their own, which only tell it in their messages.
        said = os.strerror(errno.ENOSPC) in str(error) or _CUT_ARRAY.fullmatch(str(error))
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or said:
            remedy = "Free some space, or choose another folder; what was there before is unchanged."
            raise TfattnError("no space left on the disk", where=str(target), remedy=remedy) from None
        if getattr(error, "errno", None) in _UNWRITABLE:
            what = f"cannot write here ({os.strerror(error.errno)})"
            raise TfattnError(what, where=str(target), remedy="Choose a place that you may write to.") from None
        if isinstance(error, OSError) and isinstance(path_of(str(error.filename)), RemotePath):
            remedy = "Look whether the address is right, and whether you may read and write there."
            raise TfattnError(f"the address fails ({error.strerror})", where=error.filename, remedy=remedy) from None
        raise


def _hold(place: Path) -> IO[str] | None:
    """Take the lock of a workplace and return it open; None where another process holds it, or has just removed it."""
    try:
        file = open(place / LOCK, "a+")  # noqa: SIM115 (the caller closes it)
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
