"""The contract of what is exported: the functions of a SavedModel, with named inputs and outputs."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export import attention
from tfattn.tasks.task import Task
from tfattn.trained.ensemble import TrainedEnsemble, gather_rows

Columns = Mapping[str, Sequence[Any]]  # values by input, one for each row


@dataclass(frozen=True)
class Comparison:
    """How the predictions of an export compare with those of the trained model.

    Args:
        wrong: (N,) bool, the rows that are not predicted as they should be.
        report: what is kept of it.
        words: the same for people.
        expected: what should have been predicted for a row, and
        received: what was.
    """

    wrong: np.ndarray
    report: dict[str, float]
    words: str
    expected: Callable[[int], str]
    received: Callable[[int], str]


class Served(tf.Module):
    """Preprocessing and models in one graph, computed in float32, for batches of any size.

    Args:
        ensemble: the trained models, which predict together.

    Attributes:
        methods: the signatures that are for another method of TF Serving's than Predict.
        shown_metrics: the metrics that tell people how good it is, by their names in metrics.json, the first above all.
        weight_names: of all weights, in the order of the SavedModel; those of the model begin with `model_name`.

    Raises:
        ExportError: a task computes in another type than float32.
    """

    methods: dict[str, str] = {}
    shown_metrics: tuple[str, ...] = ()

    def __init__(self, ensemble: TrainedEnsemble, *, name: str):
        super().__init__(name=name)
        _check(ensemble.tasks)
        self.preprocessors = list(ensemble.preprocessors)
        tasks = ensemble.tasks
        self.weights = [variable.value for task in tasks for variable in task.weights]
        self.weight_names = tuple(variable.path for task in tasks for variable in task.weights)
        self.model_name = tasks[0].model.name
        # Only the variables above are saved: were a model an attribute, its own functions would be, too. All
        # signatures share one trace of each.
        self._runs = [_run_of(task) for task in tasks]
        self._predictions = [_predictions_of(task, run) for task, run in zip(tasks, self._runs, strict=True)]
        self._combined = lambda predictions: ensemble.combined(predictions)
        self._each_task = lambda: tasks

    @classmethod
    def check_fields(cls, fields: Sequence[str]) -> None:
        """Refuses raw fields that could not be inputs, long before there is something to export.

        Raises:
            ExportError: names the field.
        """

    @property
    def raw_fields(self) -> dict[str, str]:
        """The raw field that each input is."""
        return {name: name for name in self.preprocessors[0].fields}

    @property
    def missing(self) -> tuple[str, ...]:
        """The texts that say that an input has no value; none where every text is a text."""
        return ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs of serving_default."""
        return tuple(self.raw_fields)

    def signatures(self) -> dict[str, Any]:
        """Name to tf.function, each with its input signature."""
        raise NotImplementedError

    def about(self) -> dict[str, Any]:
        """Describe its inputs and outputs to people.

        Returns:
            `inputs`, of each input its `kind` and what is known of it: of a "text", or of "texts" of which each row has
            several, `max_tokens`, of which the rest is not read (None for no limit); of a "number" whether it
            `may_be_missing`, and `low` and `high`, between which all numbers in training lay; of a "category" the known
            `values` in order (None where there are too many to choose from), and `no_value`, the text that says that
            there is none (None where none does); of an "image" the `height` and `width` that the model reads, and the
            `max_bytes` of its file. And `entries`, by output, the names of its entries.
        """
        text = {"kind": "text", "max_tokens": self.preprocessors[0].max_tokens}
        return {"inputs": {name: dict(text) for name in self.inputs}, "entries": {}}

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        """Raw rows as the signature serving_default takes them, values by input."""
        raise NotImplementedError

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Yield requests that make every signature ready for any others, from example rows: signature and inputs."""
        raise NotImplementedError

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare the outputs of serving_default with the predictions of the trained model.

        Args:
            expected: what the trained model predicted for N rows, and what the request holds for them, by name.
            received: what the export predicts for them, N values by output.
            tolerance: how far a number may lie off.

        Raises:
            ExportError: they are not even of the same shape.
        """
        raise NotImplementedError

    def views(self) -> dict[str, Any]:
        """Name to tf.function, of what its model looks at: see `attention.signatures`; none where it does not attend.

        They are among the signatures, but nobody waits for them: the warm-up asks none of them.
        """
        return {}

    def _attention(self, **shown: Any) -> dict[str, Any]:
        """Return the signatures that show what its model looks at, of one model alone; see `attention.signatures`."""
        tasks = self._each_task()
        if len(tasks) > 1:
            return {}
        (task,) = tasks
        return attention.signatures(
            attention.Shown(model=task.model, scores_to_explain=task.scores_to_explain, **shown)
        )

    def save_assets(self, folder: Path) -> None:
        """Write the files that people may want to read beside the graph: the preprocessor's files.

        Those of several members are told apart by their names, such as member_0.table.json: a SavedModel keeps its
        assets without folders.
        """
        for number, preprocessor in enumerate(self.preprocessors):
            with tempfile.TemporaryDirectory(dir=folder) as own:
                preprocessor.save(Path(own))
                for path in Path(own).iterdir():
                    name = f"member_{number}.{path.name}" if len(self.preprocessors) > 1 else path.name
                    path.rename(folder / name)

    def _predicted(self, features: Sequence[Mapping[str, Any]], num_rows: Any) -> dict[str, Any]:
        """Predict for B rows with all models together, from the features that each reads."""
        each = zip(self._predictions, features, strict=True)
        return self._combined([predictions(some, num_rows) for predictions, some in each])


def _run_of(task: Task) -> Any:
    run = tf.function(lambda features: task(features, training=False), autograph=False, reduce_retracing=True)
    return lambda features: run(features)


def _predictions_of(task: Task, run: Callable) -> Callable:
    return lambda features, num_rows: gather_rows(task, task.predictions(run(features)), features, num_rows)


def _check(tasks: Sequence[Task]) -> None:
    for task in tasks:
        if task.compute_dtype != "float32":
            raise ExportError(
                "the task computes in the wrong type",
                expected="float32",
                received=task.compute_dtype,
                remedy="Build it under float32 for the export: its weights are float32 whatever it was trained in.",
            )
