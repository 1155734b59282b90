"""Checks of links: everything that is served is inside the configured folder.

Links within the tree are welcome: `current -> v3`, or `..data` of a volume in Kubernetes.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tfattn.errors import SavedModelError


def stays_inside(path: str | Path, folder: str | Path) -> bool:
    """Tell whether a path, with all links followed, leads to something in a folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def check_files(folder: Path) -> None:
    """Refuse a version's folder that holds a link to the outside, or something that is not a file.

    Args:
        folder: the version's folder, which may be a link itself.

    Raises:
        SavedModelError: names the first such path, and where it leads.
    """
    for place, folders, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in (*folders, *names)):
            if os.path.islink(path):
                check_inside([path], folder)
            try:
                mode = os.stat(path).st_mode
            except OSError:  # it leads nowhere, or has just gone: nobody can read it
                continue
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise SavedModelError("not a file", where=path, expected="files and folders only")


def check_inside(paths: Iterable[str | Path], folder: Path) -> None:
    """Refuse paths that lead out of a version's folder.

    Raises:
        SavedModelError: names the first such path, and where it leads.
    """
    for path in paths:
        if not stays_inside(path, folder):
            raise SavedModelError(
                "it leads out of the version's folder",
                where=str(path),
                expected=f"something in {folder}",
                received=os.path.realpath(path),
                remedy="Copy the file there.",
            )
