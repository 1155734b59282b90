"""Manifests: the sizes and SHA-256 of files, which detect changes before the files are used.

A manifest contains the SHA-256 of its own content too. The `manifest.json` of a folder covers all other files of the
folder; other manifests cover a selection.
"""

import fnmatch
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict
from typing_extensions import TypedDict  # pydantic requires it before Python 3.12

from tfattn.errors import DataError
from tfattn.files.reading import parse_json, read_bytes
from tfattn.files.remote import RemotePath, path_of

MANIFEST = "manifest.json"
CHECKSUM = "sha256"
PRODUCER = "tfattn"  # the meta_graph_version of SavedModels that have a manifest
WRITE_AGAIN = "Write the folder again."


class File(TypedDict):
    """The size, in bytes, and the SHA-256 of a file."""

    size: int
    sha256: str


class Manifest(TypedDict):
    """The common part of all manifests, which may have additional facts.

    Attributes:
        files: by path in the folder.
    """

    __pydantic_config__ = ConfigDict(extra="allow")

    files: dict[str, File]


Facts = TypeVar("Facts", bound=Manifest)


def write_manifest(folder: Path, **facts: Any) -> None:
    """Write the `manifest.json` of a folder, with the given facts and all other files of the folder."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    (folder / MANIFEST).write_text(manifest_text(folder, paths, **facts), encoding="utf-8")


def manifest_text(folder: Path, paths: Iterable[Path], **facts: Any) -> str:
    """Return the JSON text of a manifest of some files of a folder."""
    files = {
        str(path.relative_to(folder)): {"size": path.stat().st_size, "sha256": sha256(path)} for path in sorted(paths)
    }
    content = {**facts, "files": files}
    return json.dumps({**content, CHECKSUM: digest(content)}, indent=2) + "\n"


def read_manifest_file(path: str | Path, shape: type[Facts] = Manifest, *, remedy: str = WRITE_AGAIN) -> Facts:
    """Read a manifest without verifying its files.

    Args:
        path: the manifest.
        shape: the type of its content, a TypedDict derived from `Manifest`.
        remedy: the remedy in the error message.

    Raises:
        DataError: the manifest is missing, damaged or changed.
    """
    text = read_bytes(path, remedy=remedy)
    content = parse_json(text, dict[str, Any], where=str(path), remedy=remedy)
    checksum = content.pop(CHECKSUM, None)
    if checksum != digest(content):
        what = "has no SHA-256 of itself" if checksum is None else "does not match its own SHA-256"
        raise DataError(f"the file is damaged, or of an older version: it {what}", where=str(path), remedy=remedy)
    return parse_json(text, shape, where=str(path), remedy=remedy)


def read_manifest(folder: str | Path, shape: type[Facts] = Manifest, *, remedy: str = WRITE_AGAIN) -> Facts:
    """Read the manifest of a folder without verifying its files; see `read_manifest_file`."""
    return read_manifest_file(Path(folder) / MANIFEST, shape, remedy=remedy)


def verify(folder: str | Path, *patterns: str, shape: type[Facts] = Manifest, remedy: str = WRITE_AGAIN) -> Facts:
    """Verify the files of a folder against its manifest, and return the manifest.

    Args:
        folder: the folder with the manifest.
        patterns: the files to verify, such as `train-*`; by default all files.
        shape: the type of the manifest's content.
        remedy: the remedy in the error message.

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
    """Verify files of a folder against their entries in a manifest; see `verify`."""
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
