"""Checks of symbolic links: every served file is inside the configured folder.

Links within the folder are allowed: `current -> v3`, or `..data` of a Kubernetes volume.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tfattn.errors import SavedModelError


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Return whether a path is inside a folder after all links are resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def check_files(folder: Path) -> None:
    """Check that a version's folder has only files and folders, and no links out of it.

    Args:
        folder: the version's folder, which may be a link itself.

    Raises:
        SavedModelError: names the first invalid path and its target.
    """
    for parent, folders, names in os.walk(folder):
        for path in (os.path.join(parent, name) for name in (*folders, *names)):
            if os.path.islink(path):
                check_inside([path], folder)
            try:
                mode = os.stat(path).st_mode
            except OSError:  # a dangling link or a file that was just removed
                continue
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise SavedModelError("not a file", where=path, expected="files and folders only")


def check_inside(paths: Iterable[str | Path], folder: Path) -> None:
    """Check that paths are inside a version's folder.

    Raises:
        SavedModelError: names the first path outside the folder and its target.
    """
    for path in paths:
        if not is_inside(path, folder):
            raise SavedModelError(
                "the path leads out of the version's folder",
                where=str(path),
                expected=f"a path in {folder}",
                received=os.path.realpath(path),
                remedy="Copy the file into the folder.",
            )
