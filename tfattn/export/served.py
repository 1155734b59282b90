"""The contract of what is exported: the functions of a SavedModel, with named inputs and outputs."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.tasks.task import Task

PREDICT = "tensorflow/serving/predict"
CLASSIFY = "tensorflow/serving/classify"

# A trained model: the fitted preprocessor, and the task built under float32.
Member = tuple[Preprocessor, Task]
Columns = Mapping[str, Sequence[Any]]  # values by input, one for each row


class Served(tf.Module):
    """Preprocessing, models and label names in one graph, computed in float32, for batches of any size.

    Several members answer together, by the mean of their scores.

    Args:
        members: the trained models.
        labels: the C label names in the order of their ids.

    Attributes:
        labels: these names.
        methods: the signatures that are for another method of TF Serving's than Predict.

    Raises:
        ExportError: a task computes in another type than float32, or a label is empty or has a line break.
    """

    def __init__(self, *, members: Sequence[Member], labels: Sequence[str], name: str):
        super().__init__(name=name)
        _check(members, labels)
        self.preprocessors = [preprocessor for preprocessor, _ in members]
        tasks = [task for _, task in members]
        self.weights = [variable.value for task in tasks for variable in task.weights]
        # Only the variables above are saved: were a model an attribute, its own functions would be, too. All
        # signatures share one trace of each.
        self._runs = [_run_of(task) for task in tasks]
        self._answers = [lambda outputs, task=task: task.answers(outputs) for task in tasks]
        self._combined = lambda answers: tasks[0].combined(answers)
        self._labels = tuple(labels)
        self.methods = {"classify": CLASSIFY}

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the raw fields that it reads."""
        return tuple(self.preprocessors[0].fields)

    def signatures(self) -> dict[str, Any]:
        """Name to tf.function, each with its input signature."""
        raise NotImplementedError

    def request(self, rows: Sequence[Mapping[str, str]]) -> dict[str, list[Any]]:
        """Raw rows as the signature serving_default takes them, values by input."""
        raise NotImplementedError

    def warm_up(self, rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Columns]]:
        """Requests that make every signature ready for whatever may come, from example rows: signature and inputs."""
        raise NotImplementedError

    def save_assets(self, folder: Path) -> None:
        """Writes what people may want to read beside the graph: labels.txt, and the preprocessor's files.

        Those of several members are told apart by their names, such as member_0.table.json: a SavedModel keeps its
        assets without folders.
        """
        for number, preprocessor in enumerate(self.preprocessors):
            with tempfile.TemporaryDirectory(dir=folder) as own:
                preprocessor.save(Path(own))
                for path in Path(own).iterdir():
                    name = f"member_{number}.{path.name}" if len(self.preprocessors) > 1 else path.name
                    path.rename(folder / name)
        (folder / "labels.txt").write_text("".join(f"{label}\n" for label in self.labels), encoding="utf-8")

    def _answered(self, outputs: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What the members say together."""
        return self._combined([answers(one) for answers, one in zip(self._answers, outputs, strict=True)])


def example(row: Mapping[str, str | float]) -> bytes:
    """A row as a serialized tf.Example."""
    built = tf.train.Example()
    for name, value in row.items():
        feature = built.features.feature[name]
        if isinstance(value, str):
            feature.bytes_list.value.append(value.encode("utf-8"))
        else:
            feature.float_list.value.append(value)
    return built.SerializeToString(deterministic=True)


def _run_of(task: Task) -> Any:
    run = tf.function(lambda features: task(features, training=False), reduce_retracing=True)
    return lambda features: run(features)


def _check(members: Sequence[Member], labels: Sequence[str]) -> None:
    for _, task in members:
        if task.compute_dtype != "float32":
            raise ExportError(
                "the task computes in the wrong type",
                expected="float32",
                received=task.compute_dtype,
                remedy="Build it under float32 for the export: its weights are float32 whatever it was trained in.",
            )
    for label in labels:
        if not label or len(label.splitlines()) > 1:
            raise ExportError(
                "a label cannot be a line of labels.txt", expected="text without line breaks", received=repr(label)
            )
