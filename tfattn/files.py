"""The one writer of files: what is written appears whole or not at all, and what is read back is what was written.

Everything is written to a temporary name beside its target, forced to the disk and renamed. A folder carries a
`manifest.json` with the size and SHA-256 of each of its files; `verify` holds the files against it.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tfattn.errors import ConfigError, DataError, TfattnError

MANIFEST = "manifest.json"

Kind = TypeVar("Kind")

_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)


@contextlib.contextmanager
def atomic_file(target: str | Path) -> Iterator[Path]:
    """Yields a temporary path to write to; on success it becomes `target`, on any error nothing changes."""
    target = Path(target)
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            _sync(temporary)
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
            _sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(target: str | Path, **facts: Any) -> Iterator[Path]:
    """Yields a temporary folder to fill; on success it gets a manifest that holds `facts` too, and becomes `target`.

    A folder that stands at `target` is deleted only after the new one is complete.
    """
    target = Path(target)
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        try:
            yield temporary
            write_manifest(temporary, **facts)
            for path in [*_files(temporary), *(p for p in temporary.rglob("*") if p.is_dir()), temporary]:
                _sync(path)
            os.chmod(temporary, 0o755)
            _put_in_place(temporary, target)
            _sync(target.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def write_text(target: str | Path, text: str) -> None:
    """Writes UTF-8 text atomically."""
    with atomic_file(target) as path:
        path.write_text(text, encoding="utf-8")


def write_json(target: str | Path, value: Any) -> None:
    """Writes JSON atomically, indented, keys in their given order."""
    write_text(target, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Reads a JSON file that `write_json` wrote."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def by_suffix(path: str | Path, kinds: Mapping[str, Kind]) -> Kind:
    """What is to be written into a file, by the suffix of its name.

    Args:
        path: the file.
        kinds: what each suffix stands for, in lower case with its dot.

    Raises:
        ConfigError: it stands for nothing; names those that there are.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in kinds:
        raise ConfigError(
            "the suffix does not say what to write",
            where=str(path),
            expected=f"one of {', '.join(kinds)}",
            received=repr(suffix) if suffix else "none",
        )
    return kinds[suffix]


def write_manifest(folder: Path, **facts: Any) -> None:
    """Writes `manifest.json`: the given facts, and size and SHA-256 of every other file of the folder."""
    files = {
        str(path.relative_to(folder)): {"size": path.stat().st_size, "sha256": sha256(path)}
        for path in _files(folder)
        if path.name != MANIFEST
    }
    (folder / MANIFEST).write_text(json.dumps({**facts, "files": files}, indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Reads the manifest of a folder without looking at its files.

    Raises:
        DataError: there is none, or it is not JSON.
    """
    path = Path(folder) / MANIFEST
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot read the manifest ({error})", where=str(path), remedy="Write the folder again."
        ) from None


def verify(folder: str | Path) -> dict[str, Any]:
    """Holds every file of a folder against its manifest, which is returned.

    Raises:
        DataError: a file is missing, or its size or SHA-256 differs; names the first such file.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    for name, fact in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise DataError("the file is missing", where=str(path), remedy="Write the folder again.")
        if path.stat().st_size != fact["size"]:
            raise DataError(
                "the file is cut or grown",
                where=str(path),
                expected=f"{fact['size']} bytes",
                received=f"{path.stat().st_size}",
                remedy="Write the folder again.",
            )
        if sha256(path) != fact["sha256"]:
            raise DataError("the file's SHA-256 differs", where=str(path), remedy="Write the folder again.")
    return manifest


def sha256(path: str | Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def numbered(folder: str | Path) -> dict[int, Path]:
    """The subfolders whose names are whole numbers, by that number, ascending; none where there is no folder."""
    folder = Path(folder)
    if not folder.is_dir():
        return {}
    found = (path for path in folder.iterdir() if path.name.isascii() and path.name.isdigit() and path.is_dir())
    return dict(sorted((int(path.name), path) for path in found))


def remove_folder(folder: str | Path) -> None:
    """Deletes a folder; whoever reads it meanwhile sees all of it or nothing."""
    folder = Path(folder)
    hidden = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    os.rename(folder, hidden / "was")
    shutil.rmtree(hidden, ignore_errors=True)


def digest(value: Any) -> str:
    """The SHA-256 of a JSON-like value, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@contextlib.contextmanager
def lock(folder: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Holds a folder for this process until the block ends, or the process does.

    Args:
        folder: made if it does not stand yet.
        wait: whether to wait for another process that holds it.

    Raises:
        TfattnError: another process holds it.
    """
    folder = Path(folder)
    with _disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / ".lock", "a+")  # noqa: SIM115 (held until the block ends, in `with` below)
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TfattnError(
                "another process is at work in this folder",
                where=str(folder),
                remedy="Wait until it ends, or give this run another `name`.",
            ) from None
        yield


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _put_in_place(temporary: Path, target: Path) -> None:
    if not target.exists():
        os.rename(temporary, target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
    os.rename(target, old / "was")
    os.rename(temporary, target)
    shutil.rmtree(old, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _disk_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # TensorFlow and safetensors raise errors of their own that only say it in words.
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error):
            remedy = "Free some space, or choose another folder; what stood there before is unchanged."
            raise TfattnError("no space left on the disk", where=str(target), remedy=remedy) from None
        if getattr(error, "errno", None) in _UNWRITABLE:
            what = f"cannot write here ({os.strerror(error.errno)})"
            raise TfattnError(what, where=str(target), remedy="Choose a place that you may write to.") from None
        raise
