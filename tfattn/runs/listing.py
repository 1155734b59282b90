"""A list of all runs, read from their folders without TensorFlow."""

import dataclasses
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.errors import DataError
from tfattn.runs.run_export import CONFIG
from tfattn.runs.stage_log import read_stage

PREPARED = "prepared"  # the folder of prepared data among the runs of a name
CHECKPOINTS = "checkpoints"
FINISHED_STAGES = {"export": "exported", "evaluate": "evaluated", "train": "trained"}  # the last stage first


@dataclasses.dataclass(frozen=True)
class RunInfo:
    """The facts about a run that `tfattn runs` shows.

    Attributes:
        name, id: of the run; its folder is <runs folder>/<name>/<id>.
        date: the time of its last change, in the local time zone.
        state: "exported", "evaluated" or "trained"; "step 120" or "2 of 5 models trained" of an unfinished training;
            "started" before the first checkpoint; with ", running" while a process works on it.
        metric, value: the metric that chooses the best validation, on the evaluated rows or else on the validation
            rows; None before the first validation.
        seconds: the duration of all finished stages.
        bytes: the size of the run's folder; prepared data and exports are not included.
        latest: whether it is the newest run of its name.
    """

    name: str
    id: str
    date: datetime
    state: str
    metric: str | None
    value: float | None
    seconds: float
    bytes: int
    latest: bool


def list_runs(runs_folder: str | Path, name: str | None = None) -> list[RunInfo]:
    """Return the runs of a folder, the newest first.

    Args:
        runs_folder: the folder of all runs.
        name: only runs of this name.

    Raises:
        DataError: there is no such folder; the message lists the names.
    """
    found = [read_run(folder) for folder in run_folders(runs_folder, name)]
    return sorted(found, key=lambda info: info.date, reverse=True)


def run_folders(runs_folder: str | Path, name: str | None = None) -> list[Path]:
    """Return the folders of all runs, or of the runs of a name; see `list_runs`."""
    root = Path(runs_folder)
    if name is not None and not (root / name).is_dir():
        names = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
        raise DataError(
            "there are no runs of this name",
            where=str(root / name),
            expected=", ".join(names) or "a run: `tfattn run PIPELINE` makes one",
        )
    configs = root.glob(f"{name or '*'}/*/{CONFIG}")
    return sorted(path.parent for path in configs if not path.parent.is_symlink())


def member_folders(run: Path) -> list[Path]:
    """Return the folders in which the models of a run are trained."""
    return sorted(path for path in (run / "members").glob("*") if path.is_dir()) or [run]


def folder_bytes(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def read_run(folder: Path) -> RunInfo:
    """Return the facts about the run of a folder."""
    latest = folder.parent / "latest"
    metric, value = _metric(folder)
    return RunInfo(
        name=folder.parent.name,
        id=folder.name,
        date=datetime.fromtimestamp(max(path.stat().st_mtime for path in _dated(folder))).astimezone(),
        state=_state(folder),
        metric=metric,
        value=value,
        seconds=sum(_seconds(folder)),
        bytes=folder_bytes(folder),
        latest=latest.is_symlink() and latest.readlink().name == folder.name,
    )


def _dated(folder: Path) -> Iterator[Path]:
    """Yield files that every stage writes."""
    yield folder / CONFIG
    for member in {folder, *member_folders(folder)}:
        yield from member.glob("stages/*.json")
        yield from member.glob("history.jsonl")


def _seconds(folder: Path) -> Iterator[float]:
    for member in {folder, *member_folders(folder)}:
        for stage in FINISHED_STAGES:
            if (record := read_stage(member, stage)) is not None:
                yield record["seconds"]


def _state(folder: Path) -> str:
    running = ", running" if any(files.is_locked(path) for path in {folder, *member_folders(folder)}) else ""
    members = member_folders(folder)
    trained = sum(read_stage(member, "train") is not None for member in members)
    if trained == len(members):
        last = next(state for stage, state in FINISHED_STAGES.items() if stage == "train" or read_stage(folder, stage))
        return last + running
    if len(members) > 1:
        return f"{trained} of {len(members)} models trained{running}"
    newest = _newest_state(folder)
    return (f"step {newest['step']}" if newest else "started") + running


def _metric(folder: Path) -> tuple[str | None, float | None]:
    """Return the metric that chooses the best validation, and its value; of an ensemble the value of the ensemble."""
    states = [state for member in member_folders(folder) if (state := _newest_state(member)) is not None]
    if not states:
        return None, None
    metric = states[0]["monitor"]
    if (folder / "metrics.json").is_file():
        metrics = files.read_json(folder / "metrics.json", dict[str, int | float])
        if metric in metrics:
            return metric, float(metrics[metric])
    best = states[0]["best"] or {}
    return f"validation_{metric}", best.get("value")


def _newest_state(member: Path) -> dict[str, Any] | None:
    checkpoints = sorted((member / CHECKPOINTS).glob("step-*/state.json"))
    return files.read_json(checkpoints[-1], dict[str, Any]) if checkpoints else None
