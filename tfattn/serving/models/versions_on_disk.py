"""Scanning of a model's folder for versions, and selection of the versions to serve."""

import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tensorflow_serving.config.file_system_storage_path_source_pb2 import FileSystemStoragePathSourceConfig

from tfattn.litert import decoder_file
from tfattn.serving.engine.links import is_inside

Policy = FileSystemStoragePathSourceConfig.ServableVersionPolicy
Files = frozenset[tuple[str, int, int]]

MAX_VERSION = 2**63 - 1  # a version is an int64 in every message


@dataclass(frozen=True)
class DiskVersion:
    """A version on disk.

    Attributes:
        folder: the version's folder.
        files: the name, size and modification time of each file; None if they were not read.
    """

    folder: Path
    files: Files | None


@dataclass(frozen=True)
class Scan:
    """The result of a scan of a model's folder.

    Attributes:
        wanted: the versions that the policy selects, by number.
        problems: warnings, one line each.
    """

    wanted: dict[int, DiskVersion]
    problems: tuple[str, ...]


def scan(base: Path, policy: Policy, *, loaded: Collection[int] = ()) -> Scan:
    """Find the versions to serve.

    A version is a folder whose name is a number, with or without leading zeros. It is complete once it has a
    saved_model.pb, or all files of a language model for LiteRT alone. It may be a link to a folder within the model's
    folder.

    Args:
        base: the model's folder.
        policy: the latest versions (by default 1), all versions, or specific versions.
        loaded: the versions whose files are not read.

    Raises:
        OSError: the folder is missing or cannot be read.
    """
    folders = _folders(base)
    versions = _complete(folders)
    wanted = {
        number: DiskVersion(versions[number], None if number in loaded else files(versions[number]))
        for number in _select(versions, policy)
    }
    return Scan(wanted, tuple(_problems(base, folders, versions, policy)))


def complete(base: Path) -> dict[int, Path]:
    """Return all complete versions by number, ascending.

    Raises:
        OSError: the folder is missing or cannot be read.
    """
    return _complete(_folders(base))


def files(folder: Path) -> Files:
    """Return the name, size and modification time of each file, to detect changes of a version's folder."""
    found = set()
    for parent, _, names in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                stat = os.stat(path)
                found.add((os.path.relpath(path, folder), stat.st_size, stat.st_mtime_ns))
    return frozenset(found)


def ignored_links(base: Path) -> list[str]:
    """Return a warning for each version that is a link out of the model's folder.

    Raises:
        OSError: the folder is missing or cannot be read.
    """
    return [
        f"version {path.name} is ignored: it links out of {base}, to {os.path.realpath(path)}"
        for path in _numbered(base)
        if not is_inside(path, base)
    ]


def _folders(base: Path) -> dict[int, list[Path]]:
    """Return the folders of each number, ascending. Of several, the first by name is served (TF Serving: the last)."""
    folders: dict[int, list[Path]] = {}
    for path in _numbered(base):
        if not path.is_symlink() or is_inside(path, base):
            folders.setdefault(int(path.name), []).append(path)
    return dict(sorted(folders.items()))


def _numbered(base: Path) -> list[Path]:
    return [
        base / name
        for name in sorted(os.listdir(base), reverse=True)
        if name.isascii() and name.isdigit() and int(name) <= MAX_VERSION and os.path.isdir(base / name)
    ]


def is_complete(folder: Path) -> bool:
    """Return whether a folder has all files of a version."""
    return os.path.isfile(folder / decoder_file.SAVED_MODEL) or decoder_file.is_alone(folder)


def _complete(folders: dict[int, list[Path]]) -> dict[int, Path]:
    complete_folders = {number: [path for path in paths if is_complete(path)] for number, paths in folders.items()}
    return {number: paths[0] for number, paths in complete_folders.items() if paths}


def _select(versions: Collection[int], policy: Policy) -> list[int]:
    match policy.WhichOneof("policy_choice"):
        case "all":
            return list(versions)
        case "specific":
            return [number for number in versions if number in policy.specific.versions]
    return list(versions)[-max(1, policy.latest.num_versions) :]


def _problems(base: Path, folders: dict[int, list[Path]], versions: dict[int, Path], policy: Policy) -> Iterator[str]:
    yield from ignored_links(base)
    if not versions:
        yield f"there is no version in {base}: a version is a folder named by a number, with saved_model.pb in it"
    for number, paths in folders.items():
        if number not in versions:
            yield f"version {number} has no saved_model.pb yet"
            continue
        for other in set(paths) - {versions[number]}:
            yield f"version {number} has several folders: {other.name} is ignored"
    for number in sorted(set(policy.specific.versions) - set(versions)):
        yield f"version {number} is requested but does not exist"
