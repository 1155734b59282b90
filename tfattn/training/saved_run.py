"""The files of a run that is trained: checkpoints, from which it resumes exactly, and its history."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfattn import files
from tfattn.console import note
from tfattn.errors import CheckpointError
from tfattn.tasks.task import Task
from tfattn.training.averages import Averaging
from tfattn.training.checkpoints import Checkpoint, Checkpoints
from tfattn.training.optimizers import Optimizer
from tfattn.training.position import Identity, Position
from tfattn.training.runtime import Runtime
from tfattn.training.variables import Group, trained


class SavedRun:
    """The state of a run on disk: it is saved to checkpoints and resumed from the newest.

    Args:
        folder: the run's.
        tensors: all tensors of a checkpoint, of `tensors_of`.
        identity: the run's; a checkpoint of another run is refused.
        keep: the number of the newest checkpoints that are kept, beside the best.
        runtime: its chief writes.
    """

    def __init__(self, folder: Path, *, tensors: dict[str, Group], identity: Identity, keep: int, runtime: Runtime):
        self.folder = folder
        self.tensors = tensors
        self.identity = identity
        self.runtime = runtime
        self.checkpoints = Checkpoints(folder / "checkpoints", keep=keep, writes=runtime.is_chief)

    def resume(self, total_steps: int) -> Position:
        """Restore the newest checkpoint, where there is one, and return its position.

        Args:
            total_steps: the steps of the whole run, for the message.

        Raises:
            CheckpointError: it is of another run, does not fit or is damaged, or the workers find different ones.
        """
        position = Position()
        newest = self.checkpoints.newest()
        if newest:
            self._check_identity(newest)
            for group, variables in self.tensors.items():
                newest.restore(group, variables)
            position = newest.read(Position)
            self.write_history(position.history)
            if self.runtime.is_chief:
                note(f"resumes at step {position.counters.step} of {total_steps}")
        if not self.runtime.agree(position.counters.step):
            raise CheckpointError(
                "the workers are not at the same step",
                where=str(self.checkpoints.folder),
                expected="one folder that all workers share",
                received=f"step {position.counters.step} here, another elsewhere",
                remedy="Put `runs_folder` on a disk that every machine sees.",
            )
        return position

    def save(self, position: Position, *, monitor: str, best: dict[str, Any] | None) -> None:
        """Write a checkpoint.

        Args:
            position: the run's.
            monitor: the metric that chooses the best validation.
            best: the epoch, step and value of that, or None where the last one counts.
        """
        step = position.counters.step
        facts = {"step": step, "monitor": monitor, "best": best, **self.identity}
        self.checkpoints.save(step, self.tensors, {**facts, **dataclasses.asdict(position)})

    def write_history(self, history: list[dict[str, Any]]) -> None:
        """Write `history.jsonl`, unless another process is the chief."""
        if self.runtime.is_chief:
            files.write_text(self.folder / "history.jsonl", "".join(json.dumps(line) + "\n" for line in history))

    def _check_identity(self, checkpoint: Checkpoint) -> None:
        found = dict(checkpoint.read(Identity))
        if found != self.identity:
            raise CheckpointError(
                "the checkpoint belongs to another run",
                where=str(checkpoint.folder),
                expected=_facts(self.identity),
                received=_facts(found),
                remedy="Give this run another `name`, or delete the folder to train anew.",
            )


def tensors_of(task: Task, optimizer: Optimizer, averaging: Averaging | None) -> dict[str, Group]:
    """Collect the tensors of a checkpoint by group: the trained weights, and what is kept beside each of them."""
    weights = trained(task)

    def beside(kept: dict[str, list[tf.Variable]]) -> Group:
        return {f"{name}/{path}": value for name in kept for path, value in zip(weights, kept[name], strict=True)}

    groups = {"weights": weights, "slots": beside(optimizer.slots)}
    if averaging:
        groups["averages"] = dict(zip(weights, averaging.variables, strict=True))
        groups["averaged"] = beside(averaging.kept)
    return {name: group for name, group in groups.items() if group}


def _facts(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in values.items())
