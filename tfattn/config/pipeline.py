"""The whole of a pipeline file: its sections and what each is built from."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tfattn.config.relations import AtMost
from tfattn.config.types import Part, Section, Seed

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]
# Where both sides have a limit: tables have none.
Lengths = AtMost("model.max_sequence_length", inner="preprocessing.max_length")


@dataclass(kw_only=True)
class Pipeline:
    """From raw data to a served model.

    Args:
        name: the name of the runs and of the exported model; a folder name.
        data: where rows come from, how they are split, tokenized and batched.
        model: the model part, such as an encoder.
        task: what stands on top of the model: head, loss, metrics.
        training: how it is trained.
        ensemble: how many models are trained, on which parts of the rows; null trains one.
        export: where the SavedModel goes.
        runtime: devices, precision.
        seed: everything random follows from it.
        runs_folder: the folder of prepared data, checkpoints, metrics and reports.
    """

    name: Name
    data: Annotated[Section("data"), Lengths]
    model: Part("models")
    task: Part("tasks")
    training: Section("training")
    export: Section("export")
    runtime: Section("runtime")
    ensemble: Section("ensemble") | None = None
    seed: Seed = 7
    runs_folder: str = "runs"
