"""Trained models that predict as one: what evaluation measures, and what the export holds."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfattn import files
from tfattn.features import EXAMPLE_ROWS
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.several_texts import stack_fields
from tfattn.runs.member import check_labels
from tfattn.runs.run import Run
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.task import Task
from tfattn.training import checkpoints
from tfattn.training.compiled import compiled
from tfattn.training.precision import computing_in
from tfattn.training.prediction import as_arrays

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
        """Combine what some of the models predict, or one alone: tensors or arrays (B, ...) by name."""
        return self.task.combined(predictions, self.operating_point)

    def predict(self, rows: Sequence[Mapping[str, str]]) -> Predictions:
        """Predict for N raw rows, all at once; by name, each (N, ...)."""
        return as_arrays(self.combined(self.predict_each(rows)))

    def predict_each(self, rows: Sequence[Mapping[str, str]]) -> list[Predictions]:
        """Predict for N raw rows with each model alone."""
        fields = stack_fields(rows, self.preprocessor.fields)
        return [
            as_arrays(gathered(task, function(features), features, len(rows)))
            for task, function, features in zip(
                self.tasks, self._functions, (padded(one(fields)) for one in self.preprocessors), strict=True
            )
        ]

    @functools.cached_property
    def _functions(self) -> list[Callable]:
        return [compiled(lambda features, task=task: task.predictions(task(features))) for task in self.tasks]


def gathered(task: Task, predictions: dict[str, Any], features: Mapping[str, Any], num_rows: Any) -> dict[str, Any]:
    """Join what is predicted for several examples of one row, where rows give several; see `Task.gathered`.

    Args:
        task: what predicted.
        predictions: (E, ...) by name.
        features: of the E examples, with `example_rows` where rows give several.
        num_rows: B.
    """
    rows = features.get(EXAMPLE_ROWS)
    return predictions if rows is None else task.gathered(predictions, rows, num_rows)


def load(run: Run) -> TrainedEnsemble:
    """Build the models of a run with their best weights, in float32 as the export has them.

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
