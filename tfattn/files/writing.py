"""Atomic writing of files and folders."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tfattn.errors import ConfigError
from tfattn.files.locks import disk_errors, staging_folder
from tfattn.files.manifests import write_manifest

Kind = TypeVar("Kind")


@contextlib.contextmanager
def atomic_file(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path; on success the file replaces `target`, on any error nothing changes."""
    target = Path(target)
    with disk_errors(target), staging_folder(target) as staging:
        yield staging / target.name
        _sync(staging / target.name)
        os.replace(staging / target.name, target)
        _sync(target.parent)


@contextlib.contextmanager
def atomic_folder(target: str | Path, **facts: Any) -> Iterator[Path]:
    """Yield a temporary folder; on success it gets a manifest with `facts` and replaces `target`.

    An existing folder is deleted only after the new folder is complete.
    """
    target = Path(target)
    with disk_errors(target), staging_folder(target) as staging:
        new = staging / "new"
        new.mkdir()
        yield new
        write_manifest(new, **facts)
        for path in [*new.rglob("*"), new]:
            _sync(path)
        if target.exists():
            os.rename(target, staging / "old")
        os.rename(new, target)
        _sync(target.parent)


def atomic_link(target: str | Path, to: str) -> None:
    """Make `target` a symbolic link, replacing an existing one."""
    target = Path(target)
    with disk_errors(target), staging_folder(target) as staging:
        (staging / "link").symlink_to(to)
        os.replace(staging / "link", target)


def write_text(target: str | Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic_file(target) as path:
        path.write_text(text, encoding="utf-8")


def write_json(target: str | Path, value: Any) -> None:
    """Write JSON atomically, indented, keys in their given order."""
    write_text(target, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def by_suffix(path: str | Path, kinds: Mapping[str, Kind]) -> Kind:
    """Return the choice for the suffix of a file's name, such as its format.

    Args:
        path: the file.
        kinds: the choices by suffix, in lower case with the dot.

    Raises:
        ConfigError: there is no choice for the suffix; lists the suffixes.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in kinds:
        raise ConfigError(
            "unknown file format",
            where=str(path),
            expected=f"one of {', '.join(kinds)}",
            received=repr(suffix) if suffix else "none",
        )
    return kinds[suffix]


def numbered(folder: str | Path) -> dict[int, Path]:
    """Return the subfolders whose names are integers, by integer, ascending; empty if the folder does not exist."""
    folder = Path(folder)
    if not folder.is_dir():
        return {}
    found = (path for path in folder.iterdir() if path.name.isascii() and path.name.isdigit() and path.is_dir())
    return dict(sorted((int(path.name), path) for path in found))


def remove_folder(folder: str | Path) -> None:
    """Delete a folder atomically."""
    folder = Path(folder)
    with staging_folder(folder) as staging:
        os.rename(folder, staging / "old")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
