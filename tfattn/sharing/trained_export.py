"""A trained model as its export stores it: configuration, weights, preprocessing and facts."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfattn import files, registry
from tfattn.config.arguments import REQUIRED
from tfattn.config.constructors import constructor
from tfattn.errors import CheckpointError
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.pretrained.contract import RANDOM_STATE, read_json
from tfattn.pretrained.own_export import OwnExport
from tfattn.trained.export_files import EXTRA, ExportFiles

if TYPE_CHECKING:  # only the parity check builds the model
    from tfattn.tasks.task import Task

ASSETS = "assets"
EXPORT_AGAIN = "Export the model again: tfattn export PIPELINE --force."


class TrainedExport(ExportFiles):
    """An export of a single model, read without running its SavedModel.

    Args:
        folder: a version, or the folder of a model, whose newest version is read.

    Attributes:
        folder: the folder of the version.
        config: the resolved configuration of the pipeline.
        task: the catalog name of the task.
    """

    def __init__(self, folder: Path):
        self.weights = OwnExport(folder)
        super().__init__(self.weights.folder)
        self.config = self.weights.config

    @property
    def model(self) -> str:
        """The catalog name of the model."""
        return self.weights.model

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """All arguments of the model's constructor, defaults included."""
        return {**defaults("models", self.model), **self._given_arguments}

    @property
    def _given_arguments(self) -> dict[str, Any]:
        """The arguments of the configuration, and the sizes that the preprocessing defines."""
        known = constructor("models", self.model).arguments
        given = {**self.preprocessor.sizes, **self.config["model"]}
        return {name: value for name, value in given.items() if name in known}

    @cached_property
    def task_settings(self) -> dict[str, Any]:
        """The settings of the task that are plain values, defaults included."""
        known = constructor("tasks", self.task).arguments
        plain = {name: value for name, value in self.config["task"].items() if name in known and not known[name].nested}
        return {**defaults("tasks", self.task), **plain}

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """The weights in float32 by path, such as block_0/attention/qkv/kernel of the model, or head/kernel."""
        prefix = f"{read_json(self.folder / EXTRA / 'weights.json')['model']}/"
        names = [name for name in self.weights.stored_shapes() if not name.endswith(RANDOM_STATE)]
        return {
            name.removeprefix(prefix): np.asarray(value, "float32") for name, value in self.weights.read(names).items()
        }

    @cached_property
    def preprocessor(self) -> Preprocessor:
        """The fitted preprocessor."""
        settings = self.config["data"]["preprocessing"]
        known = constructor("preprocessors", settings["name"]).arguments
        required = {name: settings[name] for name, argument in known.items() if argument.default is REQUIRED}
        preprocessor: Preprocessor = registry.find("preprocessors", settings["name"])(**required)
        preprocessor.load(self.folder / ASSETS)
        return preprocessor

    @cached_property
    def examples(self) -> dict[str, Any]:
        """The facts about the examples; see `Examples.facts`."""
        return registry.find("examples", self.task)(**self.config["data"].get("examples", {})).facts

    @property
    def labels(self) -> list[str]:
        """The labels in the order of their ids.

        Raises:
            CheckpointError: the export has no labels.
        """
        if not self.targets.get("labels"):
            raise CheckpointError(
                "the export does not state its labels",
                where=str(self.folder),
                expected="`labels` in assets.extra/statistics.json",
                remedy=EXPORT_AGAIN,
            )
        return list(self.targets["labels"])

    def asset(self, name: str) -> Any:
        """Read a JSON file of the assets; None if there is no such file."""
        path = self.folder / ASSETS / name
        return files.read_json(path, dict[str, Any]) if path.is_file() else None

    def build_task(self) -> "Task":
        """Build the task with its trained weights."""
        import keras

        model = registry.find("models", self.model)(**self._given_arguments)
        given = {
            "model": model,
            "preprocessor": self.preprocessor,
            "targets": self.targets,
            "examples": self.examples,
        }
        known = constructor("tasks", self.task).arguments
        task: Task = registry.find("tasks", self.task)(
            **{name: value for name, value in self.task_settings.items() if name in known},
            **{name: value for name, value in given.items() if name in known},
        )
        prefix = f"{model.name}/"
        for variable in task.weights:
            path = variable.path.removeprefix(prefix)
            if not path.endswith(RANDOM_STATE):
                variable.assign(keras.ops.convert_to_tensor(self.values[path]))
        return task


def defaults(catalog: str, name: str) -> Mapping[str, Any]:
    """Return the defaults of the arguments of a catalog entry."""
    known = constructor(catalog, name).arguments
    return {
        key: list(argument.default) if isinstance(argument.default, tuple) else argument.default
        for key, argument in known.items()
        if argument.default is not REQUIRED
    }
