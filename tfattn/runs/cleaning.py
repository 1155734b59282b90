"""Removal of files that no run, export or report needs."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tfattn import files
from tfattn.errors import DataError
from tfattn.runs.listing import CHECKPOINTS, PREPARED, folder_bytes, member_folders, run_folders
from tfattn.runs.stage_log import read_stage, update_stage
from tfattn.training.checkpoints import Checkpoints


@dataclasses.dataclass(frozen=True)
class Removal:
    """Files that can be removed.

    Attributes:
        what: the kind of the files.
        path: the folder that has them.
        bytes: their size.
        remove: removes them; what remains is complete at every moment.
    """

    what: str
    path: Path
    bytes: int
    remove: Callable[[], None]


def find_removals(
    runs_folder: str | Path, export_folder: str | Path, names: Sequence[str] = (), *, keep_versions: int = 1
) -> list[Removal]:
    """List files that can be removed, the largest first.

    - States of the optimizer, weights other than the best, and vectors of a frozen encoder, of finished trainings.
    - Prepared data that no run was trained on. If a training of the name has not finished, all data are kept.
    - Versions of exports except the newest.

    After the removal, every stage of every run still finds its results or computes them again. Folders in which a
    process works are left out.

    Args:
        runs_folder: the folder of all runs.
        export_folder: the folder of all exports.
        names: only runs and exports of these names; all by default.
        keep_versions: the number of the newest versions of an export to keep.

    Raises:
        DataError: there are neither runs nor exports of a name.
    """
    for name in names:
        if not (Path(export_folder) / name).is_dir():
            run_folders(runs_folder, name)
    folders = [path for path in run_folders(runs_folder) if not names or path.parent.name in names]
    found = [removal for folder in folders for removal in _of_run(folder)]
    for parent in sorted({folder.parent for folder in folders}):
        found += _prepared_data(parent, [folder for folder in folders if folder.parent == parent])
    for export in sorted(Path(export_folder).glob("*")):
        if (not names or export.name in names) and not files.is_locked(export):
            found += _old_versions(export, keep_versions)
    return sorted(found, key=lambda removal: -removal.bytes)


def _of_run(folder: Path) -> Iterator[Removal]:
    for member in member_folders(folder):
        if files.is_locked(folder) or files.is_locked(member) or not _is_trained(member):
            continue
        checkpoints = Checkpoints(member / CHECKPOINTS, writes=True)
        if size := sum(_size(path) for path in checkpoints.unused()):
            yield Removal("states of the optimizer, earlier weights", checkpoints.folder, size, _slim(member))
        if (encoded := member / "encoded").is_dir():
            yield Removal("vectors of the frozen encoder", encoded, folder_bytes(encoded), _folder(encoded))


def _prepared_data(parent: Path, runs: Sequence[Path]) -> Iterator[Removal]:
    records = [read_stage(member, "train") for run in runs for member in member_folders(run)]
    if not all(record and "prepared" in record for record in records):
        return
    used = {record["prepared"] for record in records if record}
    for folder in sorted((parent / PREPARED).glob("[!.]*")):
        if folder.name not in used and not files.is_locked(folder):
            yield Removal("prepared data without a run", folder, folder_bytes(folder), _folder(folder))


def _old_versions(export: Path, keep: int) -> Iterator[Removal]:
    for version in [*files.numbered(export).values()][:-keep]:
        yield Removal("old version of an export", version, folder_bytes(version), _folder(version))


def _is_trained(member: Path) -> bool:
    """Return whether the training has finished and its files are intact."""
    record = read_stage(member, "train")
    if record is None:
        return False
    try:
        files.check(member, record["files"])
    except DataError:
        return False
    return True


def _slim(member: Path) -> Callable[[], None]:
    def remove() -> None:
        with files.lock(member):
            Checkpoints(member / CHECKPOINTS, writes=True).remove_unused()
            update_stage(member, "train")

    return remove


def _folder(folder: Path) -> Callable[[], None]:
    return lambda: files.remove_folder(folder)


def _size(path: Path) -> int:
    return folder_bytes(path) if path.is_dir() else path.stat().st_size
