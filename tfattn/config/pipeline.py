"""The top level of a pipeline file: its sections and their classes."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tfattn.config.relations import AtMost
from tfattn.config.types import Part, Section, Seed

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]
# Holds only if both parts have a limit: tables have none.
Lengths = AtMost("model.max_sequence_length", inner="preprocessing.max_length")


@dataclass(kw_only=True)
class Pipeline:
    """A pipeline from raw data to an exported model.

    Args:
        name: the name of the runs and of the exported model; a folder name.
        data: the source of the rows, their split, preprocessing and batches.
        model: the model, such as an encoder.
        task: the task on top of the model: head, loss, metrics.
        training: the training loop: optimizer, schedule, length.
        teacher: a trained model that the model learns from, in addition to the labels; null learns from the labels
            alone.
        ensemble: the number of models to train, and the rows of each; null trains a single model.
        search: the ranges of `tfattn search`, which other commands ignore.
        calibration: the calibration of scores, and prediction sets or intervals; null for neither.
        tracker: a program that records the runs, such as MLflow; null writes the files of a run alone.
        evaluation: the options of the evaluation.
        export: the folder and options of the SavedModel.
        runtime: devices and precision.
        seed: the seed of all random numbers.
        runs_folder: the folder of prepared data, checkpoints, metrics and reports.
    """

    name: Name
    data: Annotated[Section("data"), Lengths]
    model: Part("models")
    task: Part("tasks")
    training: Section("training")
    evaluation: Section("evaluation")
    export: Section("export")
    runtime: Section("runtime")
    teacher: Section("teacher") | None = None
    calibration: Section("calibration") | None = None
    ensemble: Section("ensemble") | None = None
    search: Section("search") | None = None
    tracker: Part("trackers") | None = None
    seed: Seed = 7
    runs_folder: str = "runs"
