"""The contract of every export: the functions of a SavedModel, with named inputs and outputs."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export import attention
from tfattn.tasks.task import Task
from tfattn.trained.ensemble import TrainedEnsemble, gather_rows

Columns = Mapping[str, Sequence[Any]]  # input name to values, one value per row


@dataclass(frozen=True)
class Comparison:
    """A comparison of the predictions of an export with the predictions of the trained model.

    Args:
        wrong: (N,) bool, the rows whose predictions differ by more than the tolerance.
        report: the measurements, written to parity.json.
        words: a one-line summary of the measurements.
        expected: returns the expected prediction for a row, as text.
        received: returns the received prediction for a row, as text.
    """

    wrong: np.ndarray
    report: dict[str, float]
    words: str
    expected: Callable[[int], str]
    received: Callable[[int], str]


class Network:
    """The numeric part of an export: a task as a function of features, whose weights are constants.

    Args:
        task: the task.
    """

    _replacement: ClassVar[Callable[["Network", Mapping[str, Any]], dict[str, Any]] | None] = None

    def __init__(self, task: Task):
        self.run = tf.function(lambda features: task(features, training=False), autograph=False, reduce_retracing=True)

    def __call__(self, features: Mapping[str, Any]) -> dict[str, Any]:
        """Compute the outputs of the task, by name."""
        return self.run(features) if Network._replacement is None else Network._replacement(self, features)

    @classmethod
    @contextlib.contextmanager
    def replaced(cls, function: Callable[["Network", Mapping[str, Any]], dict[str, Any]]) -> Iterator[None]:
        """Compute all networks with a function of the network and its features, such as that of another engine."""
        cls._replacement = function
        try:
            yield
        finally:
            cls._replacement = None


class ServableModel(tf.Module):
    """Preprocessing and models in one float32 graph that takes batches of any size.

    Args:
        ensemble: the trained models.

    Attributes:
        writes_own_litert: whether `write_litert` writes the LiteRT file, instead of a division at the networks.
        predicts_rows: whether the request of a row has the whole row, so that the metrics of the task measure LiteRT
            files, too.
        methods: signature name to TF Serving method, for signatures of a method other than Predict.
        headline_metrics: names of the main metrics in metrics.json, the most important first.
        weight_names: the names of all weights, in the order of the SavedModel; names of model weights start with
            `model_name`.

    Raises:
        ExportError: a task does not compute in float32.
    """

    writes_own_litert = False
    predicts_rows = True
    methods: dict[str, str] = {}
    headline_metrics: tuple[str, ...] = ()

    def __init__(self, ensemble: TrainedEnsemble, *, name: str):
        super().__init__(name=name)
        _check(ensemble.tasks)
        self.preprocessors = list(ensemble.preprocessors)
        tasks = ensemble.tasks
        self.weights = [variable.value for task in tasks for variable in task.weights]
        self.weight_names = tuple(variable.path for task in tasks for variable in task.weights)
        self.model_name = tasks[0].model.name
        # Lambdas keep the models from being attributes: tf.saved_model.save would save the functions of a model
        # attribute too. All signatures share one trace of each model.
        self._runs = [Network(task) for task in tasks]
        self._predictions = [_predictions_of(task, run) for task, run in zip(tasks, self._runs, strict=True)]
        self._combined = lambda predictions: ensemble.combined(predictions)
        self._each_task = lambda: tasks
        self._records: list[dict[str, Any]] | None = None

    @classmethod
    def check_fields(cls, fields: Sequence[str]) -> None:
        """Check before training that all raw fields can be inputs.

        Raises:
            ExportError: a field cannot be an input.
        """

    @property
    def raw_fields(self) -> dict[str, str]:
        """Input name to the name of its raw field."""
        return {name: name for name in self.preprocessors[0].fields}

    @property
    def missing(self) -> tuple[str, ...]:
        """The strings that mean a missing value."""
        return ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs of serving_default."""
        return tuple(self.raw_fields)

    def signatures(self) -> dict[str, Any]:
        """Return signature name to tf.function, each with its input signature."""
        raise NotImplementedError

    def write_litert(self, folder: Path, rows: Sequence[Mapping[str, Any]], *, precision: str) -> dict[str, Any]:
        """Write the model's LiteRT file, for a kind of model with its own conversion.

        Args:
            folder: the folder of the version.
            rows: raw validation rows.
            precision: the precision of weights to try first.

        Returns:
            a report for each precision, as `litert_files.write`.
        """
        raise NotImplementedError

    def metadata(self) -> dict[str, Any]:
        """Return descriptions of the inputs and outputs, for the card of the export.

        Returns:
            `inputs`: input name to its `kind` and the properties of that kind:
                "text", "texts" (several texts per row): `max_tokens`, the truncation limit (None for no limit).
                "number": `may_be_missing`; `low` and `high`, the range of the training values.
                "category": the known `values` in order (None if they are too many to list); `no_value`, the string that
                    means a missing value (None if there is none).
                "image": `height` and `width` of the model input; `max_bytes` of a file.
            `entries`: output name to the names of its entries.
        """
        text = {"kind": "text", "max_tokens": self.preprocessors[0].max_tokens}
        return {"inputs": {name: dict(text) for name in self.inputs}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        """Convert raw rows to the inputs of serving_default, input name to values."""
        raise NotImplementedError

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield warm-up requests for every signature, made from example rows: (signature, inputs)."""
        raise NotImplementedError

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare the outputs of serving_default with the predictions of the trained model.

        Args:
            expected: predictions of the trained model for N rows and the inputs of these rows, by name.
            received: outputs of the export, N values each, by name.
            tolerance: the largest allowed absolute difference of a number.

        Raises:
            ExportError: the shapes differ.
        """
        raise NotImplementedError

    def attention_signatures(self) -> dict[str, Any]:
        """Return the signatures that expose attention, see `attention.signatures`; none for models without attention.

        They are included in the signatures but not in the warm-up.
        """
        return {}

    def _attention(self, **spec: Any) -> dict[str, Any]:
        """Return the attention signatures of a single model, none for an ensemble of several models."""
        tasks = self._each_task()
        if len(tasks) > 1:
            return {}
        (task,) = tasks
        return attention.signatures(
            attention.AttentionSpec(model=task.model, scores_to_explain=task.scores_to_explain, **spec)
        )

    def save_assets(self, folder: Path) -> None:
        """Write the preprocessor's files, which become assets of the SavedModel.

        With several members the file names get a prefix, such as member_0.table.json, because a SavedModel keeps its
        assets in one flat folder.
        """
        for number, preprocessor in enumerate(self.preprocessors):
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                preprocessor.save(Path(scratch))
                for path in Path(scratch).iterdir():
                    name = f"member_{number}.{path.name}" if len(self.preprocessors) > 1 else path.name
                    path.rename(folder / name)

    def _predicted(self, features: Sequence[Mapping[str, Any]], num_rows: Any) -> dict[str, Any]:
        """Combine the predictions of all models for B rows, from the features of each model."""
        pairs = zip(self._predictions, features, strict=True)
        combined = self._combined([predict(model_features, num_rows) for predict, model_features in pairs])
        if self._records is not None:
            self._records.append(combined)
        return combined

    @contextlib.contextmanager
    def recorded_predictions(self) -> Iterator[list[dict[str, Any]]]:
        """Record the combined predictions of all calls of the functions of signatures while the block runs."""
        self._records = []
        try:
            yield self._records
        finally:
            self._records = None


def _predictions_of(task: Task, run: Callable) -> Callable:
    return lambda features, num_rows: gather_rows(task, task.predictions(run(features)), features, num_rows)


def _check(tasks: Sequence[Task]) -> None:
    for task in tasks:
        if task.compute_dtype != "float32":
            raise ExportError(
                "the task does not compute in float32",
                expected="float32",
                received=task.compute_dtype,
                remedy="Build the task under float32 for the export: its weights are always float32.",
            )
