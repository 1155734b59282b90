"""The adapter of a training run: where it starts, and the folder in which it is saved."""

import math
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.filesize import decimal

from tfattn import console, files
from tfattn.config.schema import ADAPTER, SHARED_KEYS
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.pretrained import peft_adapter
from tfattn.runs.member import Member
from tfattn.sharing import peft_folder
from tfattn.sharing.counterparts import POOLER
from tfattn.sharing.trained_export import defaults
from tfattn.tasks.task import Task
from tfattn.training.checkpoints import Checkpoints

BYTES = 4  # of a weight, a gradient or a slot


def load(member: Member, task: Task, preprocessor: Preprocessor) -> None:
    """Load the trained adapter that a configuration starts from, if it names one.

    Raises:
        CheckpointError: the adapter is for another base, or is damaged.
    """
    source = (member.config.values["model"].get(ADAPTER) or {}).get("from")
    if source is not None:
        peft_folder.load(peft_adapter.open(source), task.model, _adapted(member, task, preprocessor))


def write(member: Member, task: Task) -> None:
    """Write the adapter of a trained task as a folder of the package `peft`, and print its costs."""
    target = member.folder / ADAPTER
    with files.atomic_folder(target) as folder:
        peft_folder.write(task.model, folder, _adapted(member, task, member.preprocessor()))
    weights, trained = _count(task.weights), _count(task.trainable_weights)
    newest = Checkpoints(member.folder / "checkpoints").newest()
    copies = BYTES * (member.trainer.copies - 1)  # gradients, slots and averages
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    console.note(
        f"adapter: {trained:,} of {weights:,} weights trained ({trained / weights:.2%}). Memory of gradients and "
        f"optimizer: {decimal(copies * trained)} (of all weights: {decimal(copies * weights)}); peak of the process: "
        f"{decimal(peak)}"
    )
    checkpoint = f"; a checkpoint: {decimal(_size(newest.folder))}" if newest else ""
    console.note(f"adapter: {target}: {decimal(_size(target))}{checkpoint}")


def _adapted(member: Member, task: Task, preprocessor: Preprocessor) -> peft_folder.Adapted:
    """Describe the model of an adapter, and the head on top of it."""
    model, settings = member.config.values["model"], member.config.values["task"]
    given = {name: value for name, value in model.items() if name not in ("name", *SHARED_KEYS["models"])}
    known = {**defaults("models", model["name"]), **preprocessor.sizes, **given}
    below = {id(variable) for variable in task.model.weights}
    prefix = f"{task.model.name}/"
    head = {variable.path.removeprefix(prefix): variable for variable in task.weights if id(variable) not in below}
    pooler = {
        path: variable
        for variable in task.model.weights
        if (path := variable.path.removeprefix(prefix)).startswith(POOLER)
    }
    return peft_folder.Adapted(
        model=model["name"],
        arguments=known,
        preprocessor=member.config.at("data", "preprocessing", "name"),
        pretrained=str(model["pretrained"]),
        task=settings["name"],
        task_settings={**defaults("tasks", settings["name"]), **settings},
        targets=member.facts["targets"],
        folder=member.folder,
        values={path: np.asarray(variable) for path, variable in (head | pooler).items()},
    )


def _count(variables: Iterable[Any]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())
