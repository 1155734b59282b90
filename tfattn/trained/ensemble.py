"""Ensembles of trained models, for evaluation and export."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfattn import files
from tfattn.features import EXAMPLE_ROWS
from tfattn.layers.adapters import merge
from tfattn.preprocessing.padding import padded, stack_fields
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs.member import check_labels
from tfattn.runs.run import Run
from tfattn.tasks.calibration import Calibrator
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.task import Task
from tfattn.training import checkpoints
from tfattn.training.compiled import compiled
from tfattn.training.precision import precision_scope
from tfattn.training.prediction import Predicted, as_arrays

# In the folder of a run.
OPERATING_POINT = "operating_point.json"
CALIBRATOR = "calibrator.json"

Predictions = dict[str, np.ndarray]


class TrainedEnsemble:
    """A trained model, or several models whose predictions are combined by their task.

    Evaluation, the export and its parity check all combine predictions here.

    Args:
        models: the fitted preprocessor and the trained task of each model, built under float32.
        operating_point: the minimum score of a positive row; None predicts the class with the highest score.
        calibrator: scales the combined scores, before the operating point, and adds prediction sets or intervals.

    Attributes:
        preprocessors, tasks: of all models.
        preprocessor, task: of the first model: all models have the same fields and the same configuration.
        labels: the classes in the order of their ids; empty for a task without classes.
        predicted: by split, the predictions of each model that `predict_split` has made.

    Example:
        ensemble = TrainedEnsemble([(preprocessor, task)])
        scores = ensemble.predict([{"age": "39", "hours": "40"}])["scores"]  # (1, 2)
    """

    most_permuted_rows: int | None = None  # the model is in memory, and predicts any number of rows in seconds

    def __init__(
        self,
        models: Sequence[tuple[Preprocessor, Task]],
        *,
        operating_point: OperatingPoint | None = None,
        calibrator: Calibrator | None = None,
    ):
        self.preprocessors = [preprocessor for preprocessor, _ in models]
        self.tasks = [task for _, task in models]
        self.preprocessor, self.task = models[0]
        self.labels = tuple(self.task.labels or ())
        self.operating_point = operating_point
        self.calibrator = calibrator
        self.predicted: dict[str, list[Predicted]] = {}

    def combined(self, predictions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Combine the predictions of some models: tensors or arrays (B, ...) by name."""
        if self.calibrator is None:
            return self.task.combine(predictions, self.operating_point)
        calibrated = self.calibrator(self.task.combine(predictions))
        return self.task.combine([calibrated], self.operating_point)  # chooses labels by the calibrated scores

    def predict(self, rows: Sequence[Mapping[str, str]]) -> Predictions:
        """Predict N raw rows in one batch; arrays (N, ...) by name."""
        return as_arrays(self.combined(self._predict_members(rows)))

    def predict_each(self, rows: Sequence[Mapping[str, str]]) -> list[Predictions]:
        """Predict N raw rows with each model separately, calibrated like the ensemble."""
        return [as_arrays(self.combined([member])) for member in self._predict_members(rows)]

    def _predict_members(self, rows: Sequence[Mapping[str, str]]) -> list[Predictions]:
        fields = stack_fields(rows, self.preprocessor.fields)
        batches = [padded(preprocessor(fields)) for preprocessor in self.preprocessors]
        return [
            as_arrays(gather_rows(task, function(features), features, len(rows)))
            for task, function, features in zip(self.tasks, self._functions, batches, strict=True)
        ]

    @functools.cached_property
    def _functions(self) -> list[Callable]:
        return [compiled(lambda features, task=task: task.predictions(task(features))) for task in self.tasks]


def gather_rows(task: Task, predictions: dict[str, Any], features: Mapping[str, Any], num_rows: Any) -> dict[str, Any]:
    """Combine the predictions of examples into predictions of rows, if a row has several; see `Task.merge_examples`.

    Args:
        task: the task of the predictions.
        predictions: (E, ...) by name.
        features: of the E examples, with `example_rows` if a row may have several examples.
        num_rows: the number of rows B.
    """
    rows = features.get(EXAMPLE_ROWS)
    return predictions if rows is None else task.merge_examples(predictions, rows, num_rows)


def load(run: Run) -> TrainedEnsemble:
    """Build the models of a run and load their best weights, in float32 like the export.

    Raises:
        CheckpointError: a checkpoint is missing or damaged.
        DataError: prepared data are damaged, or the folds have different labels.
    """
    check_labels(run.members)
    models = []
    with precision_scope("float32"):
        for member in run.members:
            preprocessor = member.preprocessor()
            task = member.task(preprocessor)
            checkpoints.load_weights(task, member.folder / "checkpoints")
            if run.config.at("export", "merge_adapter"):
                merge(task.model)
            models.append((preprocessor, task))
    ensemble = TrainedEnsemble(models)
    # Both files are written, or removed, by the evaluation.
    if (run.folder / OPERATING_POINT).exists():
        ensemble.operating_point = files.read_json(run.folder / OPERATING_POINT, OperatingPoint)
    if (run.folder / CALIBRATOR).exists():
        ensemble.calibrator = files.read_json(run.folder / CALIBRATOR, Calibrator)
    return ensemble
