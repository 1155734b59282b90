"""The versions of a model on disk, and which of them are to be served."""

import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tensorflow_serving.config.file_system_storage_path_source_pb2 import FileSystemStoragePathSourceConfig

from tfattn.serving.engine.links import is_inside

Policy = FileSystemStoragePathSourceConfig.ServableVersionPolicy
Files = frozenset[tuple[str, int, int]]

LARGEST = 2**63 - 1  # a version is an int64 in every message


@dataclass(frozen=True)
class Found:
    """A version on disk.

    Attributes:
        folder: where it stands.
        files: name, size and time of change of each of its files; None where nobody asked for them.
    """

    folder: Path
    files: Files | None


@dataclass(frozen=True)
class Look:
    """The result of one look at a model's folder.

    Attributes:
        wanted: the versions that its policy wants, by number.
        problems: what somebody should know, a line each.
    """

    wanted: dict[int, Found]
    problems: tuple[str, ...]


def look(base: Path, policy: Policy, *, loaded: Collection[int] = ()) -> Look:
    """Find the versions that are to be served.

    A version is a folder whose name is a number, leading zeros or not, and it is there once it has a saved_model.pb.
    It may be a link to a folder within the model's own, and to no other.

    Args:
        base: the model's folder.
        policy: latest (of which there is one, if it does not say), all, or specific ones.
        loaded: versions of which the files need not be looked at.

    Raises:
        OSError: the folder is missing or cannot be read.
    """
    folders = _folders(base)
    versions = _complete(folders)
    wanted = {
        number: Found(versions[number], None if number in loaded else files(versions[number]))
        for number in _chosen(versions, policy)
    }
    return Look(wanted, tuple(_problems(base, folders, versions, policy)))


def complete(base: Path) -> dict[int, Path]:
    """List all complete versions by number, ascending.

    Raises:
        OSError: the folder is missing or cannot be read.
    """
    return _complete(_folders(base))


def files(folder: Path) -> Files:
    """List name, size and modification time of each file, by which a change of a version's folder is noticed."""
    found = set()
    for place, _, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                stat = os.stat(path)
                found.add((os.path.relpath(path, folder), stat.st_size, stat.st_mtime_ns))
    return frozenset(found)


def strays(base: Path) -> list[str]:
    """Describe each version that is a link out of the model's folder, one per line.

    Raises:
        OSError: the folder is missing or cannot be read.
    """
    return [
        f"version {path.name} is left alone: it leads out of {base}, to {os.path.realpath(path)}"
        for path in _numbered(base)
        if not is_inside(path, base)
    ]


def _folders(base: Path) -> dict[int, list[Path]]:
    """List the folders of each number, ascending; of several, TF Serving takes the last by name, here the first."""
    folders: dict[int, list[Path]] = {}
    for path in _numbered(base):
        if not path.is_symlink() or is_inside(path, base):
            folders.setdefault(int(path.name), []).append(path)
    return dict(sorted(folders.items()))


def _numbered(base: Path) -> list[Path]:
    return [
        base / name
        for name in sorted(os.listdir(base), reverse=True)
        if name.isascii() and name.isdigit() and int(name) <= LARGEST and os.path.isdir(base / name)
    ]


def _complete(folders: dict[int, list[Path]]) -> dict[int, Path]:
    there = {number: [path for path in paths if _is_complete(path)] for number, paths in folders.items()}
    return {number: paths[0] for number, paths in there.items() if paths}


def _is_complete(folder: Path) -> bool:
    return os.path.isfile(folder / "saved_model.pb")


def _chosen(versions: Collection[int], policy: Policy) -> list[int]:
    match policy.WhichOneof("policy_choice"):
        case "all":
            return list(versions)
        case "specific":
            return [number for number in versions if number in policy.specific.versions]
    return list(versions)[-max(1, policy.latest.num_versions) :]


def _problems(base: Path, folders: dict[int, list[Path]], versions: dict[int, Path], policy: Policy) -> Iterator[str]:
    yield from strays(base)
    if not versions:
        yield f"there is no version in {base}: a version is a folder named by a number, with saved_model.pb in it"
    for number, paths in folders.items():
        if number not in versions:
            yield f"version {number} has no saved_model.pb yet"
            continue
        for other in set(paths) - {versions[number]}:
            yield f"version {number} stands there more than once: {other.name} is left alone"
    for number in sorted(set(policy.specific.versions) - set(versions)):
        yield f"version {number} is asked for, and is not there"
