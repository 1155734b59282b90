"""Predictions for the test files of GLUE, in the format of a submission.

A submission has a file for each task: a header, and the number of each test row, from 0, with the prediction.

Source: Wang et al. 2018, "GLUE: a multi-task benchmark and analysis platform for natural language understanding";
gluebenchmark.com/faq describes the files.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfattn import files
from tfattn.errors import ConfigError, DataError, nearest
from tfattn.features import LABEL, TEXT, TEXT_A, TEXT_B
from tfattn.formats.training_file import FileFormat, TrainingFile
from tfattn.serving.client import input_rows
from tfattn.serving.client.output_lines import ERROR, FailedRow, OutputLine
from tfattn.serving.client.predict import Predictor, predictions
from tfattn.serving.client.row_values import PREDICTION

FORMAT = FileFormat("csv", delimiter="\t", quoting=False)


@dataclass(frozen=True)
class GlueTask:
    """A task of GLUE.

    Attributes:
        columns: the column of the test file for each input of a model.
        bounds: the range of targets that are numbers.
    """

    columns: Mapping[str, str]
    bounds: tuple[float, float] | None = None


SENTENCE = {TEXT: "sentence"}
SENTENCES = {TEXT_A: "sentence1", TEXT_B: "sentence2"}
# By the name of the submitted file.
TASKS = {
    "CoLA": GlueTask(SENTENCE),
    "SST-2": GlueTask(SENTENCE),
    "MRPC": GlueTask({TEXT_A: "#1 String", TEXT_B: "#2 String"}),
    "STS-B": GlueTask(SENTENCES, bounds=(0.0, 5.0)),
    "QQP": GlueTask({TEXT_A: "question1", TEXT_B: "question2"}),
    "MNLI-m": GlueTask(SENTENCES),
    "MNLI-mm": GlueTask(SENTENCES),
    "QNLI": GlueTask({TEXT_A: "question", TEXT_B: "sentence"}),
    "RTE": GlueTask(SENTENCES),
    "WNLI": GlueTask(SENTENCES),
    "AX": GlueTask(SENTENCES),
}


def check(task: str) -> None:
    """Check the name of a task.

    Raises:
        ConfigError: GLUE has no such task; suggests the nearest name.
    """
    if task not in TASKS:
        raise ConfigError(
            "GLUE has no such task", expected=f"one of {', '.join(TASKS)}", received=task, remedy=nearest(task, TASKS)
        )


def write(model: Predictor, task: str, path: str, folder: Path) -> Path:
    """Write the predictions for the test file of a task.

    Args:
        model: a model trained on the task; for AX, on MNLI.
        task: the name of the task.
        path: the test file of GLUE.
        folder: the folder of the submitted file, such as RTE.tsv, which is written atomically.

    Returns:
        the path of the submitted file.

    Raises:
        ConfigError: the model is trained on another task.
        DataError: the file cannot be read, or a row has no prediction; names the location.
    """
    glue = TASKS[task]
    if set(model.trained_on.columns) != set(glue.columns):
        raise _other_model(task, "reads", glue.columns, model.trained_on.columns)
    rows = input_rows.read(path, TrainingFile(glue.columns, suffix=Path(path).suffix.lower(), format=FORMAT))
    written = folder / f"{task}.tsv"
    with files.atomic_file(written) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.writelines(_lines(task, predictions(model, rows)))
    return written


def _lines(task: str, predicted: Iterable[OutputLine]) -> Iterator[str]:
    yield "index\tprediction\n"
    bounds = TASKS[task].bounds
    wanted = LABEL if bounds is None else PREDICTION
    for number, line in enumerate(predicted):
        if isinstance(line, FailedRow):
            raise DataError(line[ERROR])
        if wanted not in line:
            raise _other_model(task, "predicts", [wanted], [name for name in (LABEL, PREDICTION) if name in line])
        prediction = line[wanted] if bounds is None else f"{np.clip(line[wanted], *bounds):.3f}"
        yield f"{number}\t{prediction}\n"


def _other_model(task: str, verb: str, expected: Iterable[str], received: Iterable[str]) -> ConfigError:
    return ConfigError(
        f"the model is not trained on {task}",
        expected=f"one that {verb} {' and '.join(expected)}",
        received=f"one that {verb} {' and '.join(received) or 'something else'}",
    )
