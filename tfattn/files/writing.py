"""Files and folders that appear whole or not at all."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfattn.files.locks import disk_errors, workplace
from tfattn.files.manifests import write_manifest


@contextlib.contextmanager
def atomic_file(target: str | Path) -> Iterator[Path]:
    """Yield a path to write to; on success the file there becomes `target`, on any error nothing changes."""
    target = Path(target)
    with disk_errors(target), workplace(target) as place:
        yield place / target.name
        _sync(place / target.name)
        os.replace(place / target.name, target)
        _sync(target.parent)


@contextlib.contextmanager
def atomic_folder(target: str | Path, **facts: Any) -> Iterator[Path]:
    """Yield a folder to fill; on success it gets a manifest that holds `facts` too, and becomes `target`.

    An existing folder at `target` is deleted only after the new one is complete.
    """
    target = Path(target)
    with disk_errors(target), workplace(target) as place:
        new = place / "new"
        new.mkdir()
        yield new
        write_manifest(new, **facts)
        for path in [*new.rglob("*"), new]:
            _sync(path)
        if target.exists():
            os.rename(target, place / "old")
        os.rename(new, target)
        _sync(target.parent)


def atomic_link(target: str | Path, to: str) -> None:
    """Make `target` a symbolic link, replacing an existing one."""
    target = Path(target)
    with disk_errors(target), workplace(target) as place:
        (place / "link").symlink_to(to)
        os.replace(place / "link", target)


def write_text(target: str | Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic_file(target) as path:
        path.write_text(text, encoding="utf-8")


def write_json(target: str | Path, value: Any) -> None:
    """Write JSON atomically, indented, keys in their given order."""
    write_text(target, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def numbered(folder: str | Path) -> dict[int, Path]:
    """List the subfolders whose names are whole numbers, by that number, ascending; none where there is no folder."""
    folder = Path(folder)
    if not folder.is_dir():
        return {}
    found = (path for path in folder.iterdir() if path.name.isascii() and path.name.isdigit() and path.is_dir())
    return dict(sorted((int(path.name), path) for path in found))


def remove_folder(folder: str | Path) -> None:
    """Delete a folder; other processes see all of it or nothing."""
    folder = Path(folder)
    with workplace(folder) as place:
        os.rename(folder, place / "old")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
