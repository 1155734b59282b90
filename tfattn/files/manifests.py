"""Manifests: the sizes and SHA-256 of files, by which a change in any of them is found before it is used.

A manifest also holds the SHA-256 of its own content. The `manifest.json` of a folder covers all of its other files; a
record, wherever it stands, covers the files that it was made of.
"""

import fnmatch
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from tfattn.errors import DataError
from tfattn.files.reading import parse_json, read_bytes
from tfattn.files.remote import RemotePath, path_of

MANIFEST = "manifest.json"
SEAL = "sha256"
SEALED = "tfattn"  # the meta_graph_version of our SavedModels, which says that they come with a manifest
WRITE_AGAIN = "Write the folder again."


class File(TypedDict):
    """The size, in bytes, and the SHA-256 of a file."""

    size: int
    sha256: str


class Manifest(TypedDict):
    """The common part of all manifests, to which each adds facts of its own; `files` by their paths in the folder."""

    __pydantic_config__ = ConfigDict(extra="allow")

    files: dict[str, File]


Facts = TypeVar("Facts", bound=Manifest)


def write_manifest(folder: Path, **facts: Any) -> None:
    """Write `manifest.json`: the given facts, and size and SHA-256 of every other file of the folder."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    (folder / MANIFEST).write_text(record(folder, paths, **facts), encoding="utf-8")


def record(folder: Path, paths: Iterable[Path], **facts: Any) -> str:
    """Return the text of a manifest of some files of a folder."""
    files = {
        str(path.relative_to(folder)): {"size": path.stat().st_size, "sha256": sha256(path)} for path in sorted(paths)
    }
    content = {**facts, "files": files}
    return json.dumps({**content, SEAL: digest(content)}, indent=2) + "\n"


def read_record(path: str | Path, shape: type[Facts] = Manifest, *, remedy: str = WRITE_AGAIN) -> Facts:
    """Read what `record` made, without looking at its files.

    Args:
        path: the file.
        shape: the type of its facts, a TypedDict on top of `Manifest`.
        remedy: what to do if it is damaged.

    Raises:
        DataError: it is missing, damaged or changed.
    """
    text = read_bytes(path, remedy=remedy)
    content = parse_json(text, dict[str, Any], where=str(path), remedy=remedy)
    seal = content.pop(SEAL, None)
    if seal != digest(content):
        what = "holds no SHA-256 of itself" if seal is None else "differs from the SHA-256 that it holds of itself"
        raise DataError(f"the file is damaged, or of an older version: it {what}", where=str(path), remedy=remedy)
    return parse_json(text, shape, where=str(path), remedy=remedy)


def read_manifest(folder: str | Path, shape: type[Facts] = Manifest, *, remedy: str = WRITE_AGAIN) -> Facts:
    """Read the manifest of a folder, without looking at its files; else as `read_record`."""
    return read_record(Path(folder) / MANIFEST, shape, remedy=remedy)


def verify(folder: str | Path, *patterns: str, shape: type[Facts] = Manifest, remedy: str = WRITE_AGAIN) -> Facts:
    """Compare the files of a folder with its manifest, and return the manifest.

    Args:
        folder: where the files and their manifest stand.
        patterns: which files, such as `train-*`; all where none is given.
        shape: the type of the manifest's facts.
        remedy: what to do if something is damaged.

    Raises:
        DataError: a file is missing, or its size or SHA-256 differs; names the first such file.
    """
    manifest = read_manifest(folder, shape, remedy=remedy)
    chosen = {
        name: file
        for name, file in manifest["files"].items()
        if not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }
    check(folder, chosen, remedy=remedy)
    return manifest


def check(folder: str | Path, files: Mapping[str, File], *, remedy: str = WRITE_AGAIN) -> None:
    """Compare files of a folder with their entries in a manifest; raises as `verify` does."""
    for name, file in files.items():
        path = Path(folder) / name
        if not path.is_file():
            raise DataError("the file is missing", where=str(path), remedy=remedy)
        if path.stat().st_size != file["size"]:
            raise DataError(
                "the file has another size",
                where=str(path),
                expected=f"{file['size']} bytes",
                received=f"{path.stat().st_size}",
                remedy=remedy,
            )
        if sha256(path) != file["sha256"]:
            raise DataError("the file's SHA-256 differs", where=str(path), remedy=remedy)


def sha256(path: str | Path | RemotePath) -> str:
    """Compute the SHA-256 of a file, as hexadecimal digits."""
    with path_of(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(value: Any) -> str:
    """Compute the SHA-256 of a JSON-like value, independent of the order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
