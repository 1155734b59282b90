"""Checkpoints: all that a run needs to go on at the very step, in files that hold tensors and nothing that can run.

checkpoints/
    step-00000120/
        weights.safetensors     what is trained, by variable path
        slots.safetensors       the optimizer's, as slot/path
        averages.safetensors    averages of the weights, where they are kept
        averaged.safetensors    what these are the averages of, where it must be kept
        state.json              position in the data, counters, history, best epoch
        manifest.json           sizes and SHA-256
    frozen/
        weights.safetensors     what is not trained, written once
        manifest.json
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import keras
import numpy as np
import tensorflow as tf
from pydantic import ConfigDict
from safetensors.numpy import load_file, save_file
from typing_extensions import TypedDict

from tfattn import files
from tfattn.console import note
from tfattn.errors import CheckpointError, DataError, listed
from tfattn.tasks.task import Task

NAMED = 5  # tensors that an error lists
STATE = "state.json"

Group = Mapping[str, tf.Variable]
Shape = TypeVar("Shape")


class Best(TypedDict):
    """The best epoch so far."""

    step: int


class State(TypedDict):
    """What every `state.json` holds; where training stands comes with it."""

    __pydantic_config__ = ConfigDict(extra="allow")

    step: int
    best: Best | None


@dataclass(frozen=True)
class Checkpoint:
    """One folder that is complete and undamaged."""

    folder: Path

    @property
    def state(self) -> State:
        """How far it is, and which is the best so far."""
        return self.read(State)

    def read(self, shape: type[Shape]) -> Shape:
        """What was written down beside the tensors, in the shape of a dataclass or a TypedDict."""
        return files.read_json(self.folder / STATE, shape)

    @property
    def fingerprint(self) -> str:
        """Says which weights these are: the SHA-256 of its manifest."""
        return files.sha256(self.folder / files.MANIFEST)

    def holds(self, group: str) -> bool:
        """Whether it has tensors of a group."""
        return (self.folder / f"{group}.safetensors").is_file()

    def restore(self, group: str, variables: Group) -> None:
        """Assigns a group's tensors to variables.

        Raises:
            CheckpointError: names or shapes differ; names the tensors.
        """
        tensors = load_file(self.folder / f"{group}.safetensors") if self.holds(group) else {}
        assign(variables, tensors, where=str(self.folder))


class Checkpoints:
    """The checkpoints of a run: the newest ones and the best.

    Args:
        folder: where they stand; made when the first is written.
        keep: how many of the newest are kept; with 2, one stands while the other is damaged.
        writes: False in workers other than the chief, where `save` does nothing.
    """

    def __init__(self, folder: str | Path, *, keep: int = 2, writes: bool = False):
        self.folder = Path(folder)
        self.keep = keep
        self.writes = writes

    def save(self, step: int, groups: Mapping[str, Group], state: dict[str, Any]) -> None:
        """Writes a checkpoint; older ones are deleted only after it has been read back and found right."""
        if not self.writes:
            return
        target = self.folder / _name(step)
        with files.atomic_folder(target) as folder:
            for group, variables in groups.items():
                save_file(_values(variables), folder / f"{group}.safetensors")
            files.write_json(folder / STATE, state)
        files.verify(target)
        self._prune()

    def save_frozen(self, variables: Group) -> None:
        """Writes what is not trained, unless it stands there already; removes what a killed process left half done."""
        if not self.writes:
            return
        files.remove_leftovers(self.folder)
        if variables and not (self.folder / "frozen").exists():
            with files.atomic_folder(self.folder / "frozen") as folder:
                save_file(_values(variables), folder / "weights.safetensors")

    def newest(self) -> Checkpoint | None:
        """The newest one that is undamaged, or None where there is none; says which it had to pass over.

        Raises:
            CheckpointError: there are some, but all are damaged.
        """
        damaged = None
        for folder in reversed(self._folders()):
            try:
                files.verify(folder)
            except DataError as error:
                damaged = error
                note(f"passed over a damaged checkpoint: {error.where}: {error.what}")
                continue
            return Checkpoint(folder)
        if damaged:
            raise CheckpointError(
                "no checkpoint can be read",
                where=str(self.folder),
                expected="at least one that is undamaged",
                received=f"{damaged.where}: {damaged.what}",
                remedy="Delete the folder to train from the beginning.",
            )
        return None

    def best(self) -> Checkpoint:
        """The best one.

        Raises:
            CheckpointError: there is none, or it is damaged.
        """
        newest = self.newest()
        if newest is None:
            raise CheckpointError("there is no checkpoint", where=str(self.folder), remedy="Train first.")
        folder = self.folder / _name(newest.state["best"]["step"] if newest.state["best"] else newest.state["step"])
        _verify(folder)
        return Checkpoint(folder)

    def restore_frozen(self, variables: Group) -> None:
        """Assigns what is not trained.

        Raises:
            CheckpointError: it does not fit, or is damaged.
        """
        if variables:
            folder = self.folder / "frozen"
            _verify(folder)
            assign(variables, load_file(folder / "weights.safetensors"), where=str(folder))

    def _folders(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"))

    def _prune(self) -> None:
        kept = set(self._folders()[-self.keep :])
        # The best of each kept one is kept too: should the newest be damaged, the one before still finds its best.
        for folder in list(kept):
            with contextlib.suppress(DataError):  # it was damaged since; the newest has just been verified
                files.verify(folder, STATE)
                best = Checkpoint(folder).state["best"]
                kept |= {self.folder / _name(best["step"])} if best else set()
        for folder in self._folders():
            if folder not in kept:
                files.remove_folder(folder)


def load_weights(task: Task, folder: str | Path) -> Checkpoint:
    """Gives a built task the best weights of a run, their averages where those were kept; returns the checkpoint.

    Args:
        task: a built task.
        folder: the run's `checkpoints` folder.

    Raises:
        CheckpointError: there is none, it is damaged, or it does not fit; names the tensors.

    Example:
        load_weights(task, "runs/factory_reports/latest/checkpoints")
        predicted = predict(task, reader, runtime)
    """
    checkpoints = Checkpoints(folder)
    best = checkpoints.best()
    best.restore("averages" if best.holds("averages") else "weights", trained(task))
    checkpoints.restore_frozen(frozen(task))
    return best


def trained(task: Task) -> Group:
    """A task's trained variables by path."""
    return _by_path(task.trainable_weights)


def frozen(task: Task) -> Group:
    """A task's other weights by path."""
    return _by_path(task.non_trainable_weights)


def assign(variables: Group, tensors: Mapping[str, np.ndarray], *, where: str) -> None:
    """Assigns tensors to the variables of the same names, all or none of them.

    Raises:
        CheckpointError: names or shapes differ; names the tensors.
    """
    missing = [name for name in variables if name not in tensors]
    unknown = [name for name in tensors if name not in variables]
    different = [
        f"{name} {tuple(tensors[name].shape)} for {tuple(variable.shape)}"
        for name, variable in variables.items()
        if name in tensors and tuple(variable.shape) != tuple(tensors[name].shape)
    ]
    faults = {"missing": missing, "not in the model": unknown, "of another shape": different}
    received = "; ".join(f"{kind}: {listed(names, NAMED)}" for kind, names in faults.items() if names)
    if received:
        raise CheckpointError(
            "the checkpoint does not fit the model",
            where=where,
            expected=f"{len(variables)} tensors of the model's shapes",
            received=received,
            remedy="Use the configuration that the checkpoint was made with, or delete it to train anew.",
        )
    for name, variable in variables.items():
        variable.assign(tensors[name])


def _by_path(variables: list[keras.Variable]) -> Group:
    group = {variable.path: variable.value for variable in variables}
    if len(group) != len(variables):
        paths = [variable.path for variable in variables]
        twice = sorted({path for path in paths if paths.count(path) > 1})
        raise CheckpointError("two weights share a path", where=listed(twice, NAMED), remedy="Give their layers names.")
    return group


def _values(variables: Group) -> dict[str, np.ndarray]:
    return {name: tf.convert_to_tensor(variable).numpy() for name, variable in variables.items()}


def _verify(folder: Path) -> None:
    try:
        files.verify(folder)
    except DataError as error:
        raise CheckpointError(
            f"the checkpoint is damaged: {error.what}",
            where=error.where,
            remedy="Delete the checkpoints to train from the beginning.",
        ) from None


def _name(step: int) -> str:
    return f"step-{step:08d}"
