"""Trained models that predict as one: what evaluation measures, and what the export holds."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfattn import files
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs.member import check_labels
from tfattn.runs.run import Run
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.task import Task
from tfattn.training import checkpoints
from tfattn.training.compiled import compiled
from tfattn.training.precision import computing_in

OPERATING_POINT = "operating_point.json"  # in the folder of a run

Predictions = dict[str, np.ndarray]


class TrainedEnsemble:
    """One trained model, or several that predict together, as their task combines what each predicts.

    This is the one place where predictions are combined: evaluation, the export and its parity check all use it.

    Args:
        models: of each model the fitted preprocessor and the trained task, built under float32.
        operating_point: the score from which on a row counts as positive; None where the best score decides.

    Attributes:
        preprocessors, tasks: of each model.
        preprocessor, task: the first's: all read the same fields and are built alike.
        labels: the classes in the order of their ids; none where the task predicts none.

    Example:
        ensemble = TrainedEnsemble([(preprocessor, task)])
        scores = ensemble.predict([{"age": "39", "hours": "40"}])["scores"]  # (1, 2)
    """

    def __init__(
        self,
        models: Sequence[tuple[Preprocessor, Task]],
        *,
        operating_point: OperatingPoint | None = None,
    ):
        self.preprocessors = [preprocessor for preprocessor, _ in models]
        self.tasks = [task for _, task in models]
        self.preprocessor, self.task = models[0]
        self.labels = tuple(self.task.labels or ())
        self.operating_point = operating_point

    def combined(self, predictions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Combines what some of the models predict, or one alone: tensors or arrays (B, ...) by name."""
        return self.task.combined(predictions, self.operating_point)

    def predict(self, rows: Sequence[Mapping[str, str]]) -> Predictions:
        """Predicts for N raw rows, all at once; by name, each (N, ...)."""
        return as_arrays(self.combined(self.predict_each(rows)))

    def predict_each(self, rows: Sequence[Mapping[str, str]]) -> list[Predictions]:
        """Predicts for N raw rows with each model alone."""
        fields = {name: tf.constant([row[name] for row in rows]) for name in self.preprocessor.fields}
        return [
            as_arrays(function(padded(preprocessor(fields))))
            for function, preprocessor in zip(self._functions, self.preprocessors, strict=True)
        ]

    @functools.cached_property
    def _functions(self) -> list[Callable]:
        return [compiled(lambda features, task=task: task.predictions(task(features))) for task in self.tasks]


def load(run: Run) -> TrainedEnsemble:
    """Builds the models of a run with their best weights, in float32 as the export has them.

    Raises:
        CheckpointError: there is none, or it is damaged.
        DataError: prepared data are damaged, or those of the folds have different labels.
    """
    check_labels(run.members)
    models = []
    with computing_in("float32"):
        for member in run.members:
            preprocessor = member.preprocessor()
            task = member.task(preprocessor)
            checkpoints.load_weights(task, member.folder / "checkpoints")
            models.append((preprocessor, task))
    ensemble = TrainedEnsemble(models)
    if ensemble.task.has_operating_point and (run.folder / OPERATING_POINT).exists():
        ensemble.operating_point = files.read_json(run.folder / OPERATING_POINT, OperatingPoint)
    return ensemble


def as_arrays(predictions: Mapping[str, Any]) -> Predictions:
    """Turns tensors by name into numpy arrays."""
    return {name: keras.ops.convert_to_numpy(value) for name, value in predictions.items()}
