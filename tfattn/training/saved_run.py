"""The files of a training run: checkpoints and history."""

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
from tfattn.training.variables import Group, changing, trained


class SavedRun:
    """The state of a run on disk, saved to checkpoints and restored from the newest.

    Args:
        folder: the run's folder.
        tensors: all tensors of a checkpoint, a result of `checkpoint_tensors`.
        identity: the run's identity; a checkpoint of another run is refused.
        keep: the number of the newest checkpoints to keep, in addition to the best.
        runtime: the runtime, whose chief writes.
    """

    def __init__(self, folder: Path, *, tensors: dict[str, Group], identity: Identity, keep: int, runtime: Runtime):
        self.folder = folder
        self.tensors = tensors
        self.identity = identity
        self.runtime = runtime
        self.checkpoints = Checkpoints(folder / "checkpoints", keep=keep, writes=runtime.is_chief)

    def resume(self, total_steps: int) -> Position:
        """Restore the newest checkpoint, if there is one, and return its position.

        Args:
            total_steps: the number of steps of the run, for the message.

        Raises:
            CheckpointError: the checkpoint is of another run, does not fit or is damaged, or the workers have different
                checkpoints.
        """
        position = Position()
        newest = self.checkpoints.newest()
        if newest:
            self._check_identity(newest)
            position = newest.read(Position)
            for group, variables in self.tensors.items():
                if newest.holds(group) or not position.finished:  # `tfattn clean` removes tensors of finished runs
                    newest.restore(group, variables)
            self.write_history(position.history)
            if self.runtime.is_chief:
                note(f"resumes at step {position.counters.step} of {total_steps}")
        if not self.runtime.agree(position.counters.step):
            raise CheckpointError(
                "the workers are not at the same step",
                where=str(self.checkpoints.folder),
                expected="a folder that all workers share",
                received=f"step {position.counters.step} here, another elsewhere",
                remedy="Put `runs_folder` on a disk that all machines share.",
            )
        return position

    def save(self, position: Position, *, monitor: str, best: dict[str, Any] | None) -> None:
        """Write a checkpoint.

        Args:
            position: the position of the run.
            monitor: the metric that chooses the best validation.
            best: epoch, step and value of the best validation, or None if the last counts.
        """
        step = position.counters.step
        facts = {"step": step, "monitor": monitor, "best": best, **self.identity}
        self.checkpoints.save(step, self.tensors, {**facts, **dataclasses.asdict(position)})

    def write_history(self, history: list[dict[str, Any]]) -> None:
        """Write `history.jsonl`, if this process is the chief."""
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
                remedy="Give this run another `name`, or delete the folder to retrain.",
            )


def checkpoint_tensors(task: Task, optimizer: Optimizer, averaging: Averaging | None) -> dict[str, Group]:
    """Return the tensors of a checkpoint by group: weights that change, their averages, and the optimizer's slots."""
    weights, slotted = changing(task), trained(task)

    def by_path(state: dict[str, list[tf.Variable]], group: Group) -> Group:
        return {f"{name}/{path}": value for name in state for path, value in zip(group, state[name], strict=True)}

    groups = {"weights": weights, "slots": by_path(optimizer.slots, slotted)}
    if averaging:
        groups["averages"] = dict(zip(weights, averaging.variables, strict=True))
        groups["averaged"] = by_path(averaging.kept, weights)
    return {name: group for name, group in groups.items() if group}


def _facts(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in values.items())
