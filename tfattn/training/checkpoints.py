"""Checkpoints: the complete state of a run, from which it resumes at the same step.

checkpoints/
    step-00000120/
        weights.safetensors     trained weights and running averages of batch normalization, by variable path
        slots.safetensors       the optimizer's slots, as slot/path
        averages.safetensors    averages of the weights, if configured
        averaged.safetensors    earlier weights that the averages are computed from, if configured
        state.json              position in the data, counters, history, best epoch
        manifest.json           sizes and SHA-256
    frozen/
        weights.safetensors     weights that are not trained, written once
        manifest.json

Files contain tensors and JSON only, so loading a checkpoint cannot run code.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypeVar

from pydantic import ConfigDict
from safetensors.numpy import load_file, save_file
from typing_extensions import TypedDict

from tfattn import files
from tfattn.console import note
from tfattn.errors import CheckpointError, DataError
from tfattn.tasks.task import Task
from tfattn.training.variables import Group, assign, changing, frozen, values

STATE = "state.json"

Shape = TypeVar("Shape")


class Best(TypedDict):
    """The best epoch so far."""

    step: int


class State(TypedDict):
    """The common part of every `state.json`, which also has the position of the run."""

    __pydantic_config__ = ConfigDict(extra="allow")

    step: int
    best: Best | None
    finished: NotRequired[bool]


@dataclass(frozen=True)
class Checkpoint:
    """A complete, undamaged checkpoint."""

    folder: Path

    @property
    def state(self) -> State:
        """The step, and the best epoch so far."""
        return self.read(State)

    def read(self, shape: type[Shape]) -> Shape:
        """Read `state.json` as a dataclass or a TypedDict."""
        return files.read_json(self.folder / STATE, shape)

    @property
    def chosen_group(self) -> str:
        """The group that evaluation and exports load: the averages of the weights if there are any."""
        return "averages" if self.holds("averages") else "weights"

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the file that evaluation and exports load."""
        return files.read_manifest(self.folder)["files"][f"{self.chosen_group}.safetensors"]["sha256"]

    def holds(self, group: str) -> bool:
        """Return whether the checkpoint has tensors of a group."""
        return (self.folder / f"{group}.safetensors").is_file()

    def restore(self, group: str, variables: Group) -> None:
        """Assign a group's tensors to variables.

        Raises:
            CheckpointError: names or shapes differ; lists the tensors.
        """
        tensors = load_file(self.folder / f"{group}.safetensors") if self.holds(group) else {}
        assign(variables, tensors, where=str(self.folder))


class Checkpoints:
    """The checkpoints of a run: the newest and the best.

    Args:
        folder: the folder of the checkpoints; created with the first checkpoint.
        keep: the number of the newest checkpoints to keep; with 2, another remains if the newest is damaged.
        writes: False in workers other than the chief; then `save` does nothing.
    """

    def __init__(self, folder: str | Path, *, keep: int = 2, writes: bool = False):
        self.folder = Path(folder)
        self.keep = keep
        self.writes = writes

    def save(self, step: int, groups: Mapping[str, Group], state: dict[str, Any]) -> None:
        """Write and verify a checkpoint, then delete old checkpoints."""
        if not self.writes:
            return
        target = self.folder / _name(step)
        with files.atomic_folder(target) as folder:
            for group, variables in groups.items():
                save_file(values(variables), folder / f"{group}.safetensors")
            files.write_json(folder / STATE, state)
        files.verify(target)
        self._prune()

    def save_frozen(self, variables: Group) -> None:
        """Write the weights that are not trained, unless they exist; remove incomplete files of a killed process."""
        if not self.writes:
            return
        files.remove_leftovers(self.folder)
        if variables and not (self.folder / "frozen").exists():
            with files.atomic_folder(self.folder / "frozen") as folder:
                save_file(values(variables), folder / "weights.safetensors")

    def newest(self) -> Checkpoint | None:
        """Return the newest undamaged checkpoint, or None if there is no checkpoint; note damaged ones.

        Raises:
            CheckpointError: all checkpoints are damaged.
        """
        damaged = None
        for folder in reversed(self._folders()):
            try:
                files.verify(folder)
            except DataError as error:
                damaged = error
                note(f"skipped a damaged checkpoint: {error.where}: {error.what}")
                continue
            return Checkpoint(folder)
        if damaged:
            raise CheckpointError(
                "no checkpoint can be read",
                where=str(self.folder),
                expected="at least one undamaged checkpoint",
                received=f"{damaged.where}: {damaged.what}",
                remedy="Delete the folder to train from scratch.",
            )
        return None

    def best(self) -> Checkpoint:
        """Return the best checkpoint.

        Raises:
            CheckpointError: there is no checkpoint, or the best is damaged.
        """
        newest = self.newest()
        if newest is None:
            raise CheckpointError("there is no checkpoint", where=str(self.folder), remedy="Train first.")
        folder = self.folder / _name(newest.state["best"]["step"] if newest.state["best"] else newest.state["step"])
        _verify(folder)
        return Checkpoint(folder)

    def restore_frozen(self, variables: Group) -> None:
        """Assign the weights that are not trained.

        Raises:
            CheckpointError: the weights do not fit, or are damaged.
        """
        if variables:
            folder = self.folder / "frozen"
            _verify(folder)
            assign(variables, load_file(folder / "weights.safetensors"), where=str(folder))

    def unused(self) -> list[Path]:
        """List the files and folders of a finished run that neither evaluation nor an export reads.

        These are the states of the optimizer, and all weights except the best. A run that is not finished needs all of
        its files, and the list is empty.
        """
        newest = self.newest()
        if newest is None or not newest.state.get("finished"):
            return []
        best = self.best()
        kept = {newest.folder / STATE, best.folder / STATE, best.folder / f"{best.chosen_group}.safetensors"}
        found = [folder for folder in self._folders() if folder not in (newest.folder, best.folder)]
        for folder in {newest.folder, best.folder}:
            found += [path for path in folder.iterdir() if path.name != files.MANIFEST and path not in kept]
        return sorted(found)

    def remove_unused(self) -> None:
        """Remove what `unused` lists; the checkpoints that remain are valid at every moment."""
        unused = self.unused()
        for folder in {path.parent for path in unused} - {self.folder}:
            kept = (path for path in folder.iterdir() if path.name != files.MANIFEST and path not in unused)
            files.write_text(folder / files.MANIFEST, files.manifest_text(folder, kept))
        for path in unused:
            files.remove_folder(path) if path.is_dir() else path.unlink()

    def _folders(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))

    def _prune(self) -> None:
        kept = set(self._folders()[-self.keep :])
        # For each kept checkpoint its best is kept too: if the newest is damaged, the previous still has its best.
        for folder in list(kept):
            with contextlib.suppress(DataError):  # an older checkpoint may be damaged; the newest is verified
                files.verify(folder, STATE)
                best = Checkpoint(folder).state["best"]
                kept |= {self.folder / _name(best["step"])} if best else set()
        for folder in self._folders():
            if folder not in kept:
                files.remove_folder(folder)


def load_weights(task: Task, folder: str | Path) -> Checkpoint:
    """Load the best weights of a run into a built task, or their averages if the run has averages.

    Args:
        task: a built task.
        folder: the run's `checkpoints` folder.

    Returns:
        the checkpoint.

    Raises:
        CheckpointError: there is no checkpoint, it is damaged, or it does not fit; lists the tensors.

    Example:
        load_weights(task, "runs/factory_reports/latest/checkpoints")
        predicted = predict(task, reader, runtime)
    """
    checkpoints = Checkpoints(folder)
    best = checkpoints.best()
    best.restore(best.chosen_group, changing(task))
    checkpoints.restore_frozen(frozen(task))
    return best


def _verify(folder: Path) -> None:
    try:
        files.verify(folder)
    except DataError as error:
        raise CheckpointError(
            f"the checkpoint is damaged: {error.what}",
            where=error.where,
            remedy="Delete the checkpoints to train from scratch.",
        ) from None


def _name(step: int) -> str:
    return f"step-{step:08d}"
