"""Predictions for the test files of GLUE, as its website wants them to be sent in.

GLUE keeps the targets of its test rows to itself. What is sent in is a file for each task with a header, and for each
row of the test file its number, from 0, and the prediction.

Source: Wang et al. 2018, "GLUE: a multi-task benchmark and analysis platform for natural language understanding";
gluebenchmark.com/faq says how the files look.
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
from tfattn.serving.client.row_outputs import PREDICTION

FORMAT = FileFormat("csv", delimiter="\t", quoting=False)


@dataclass(frozen=True)
class GlueTask:
    """A task of GLUE.

    Attributes:
        columns: of its test file, by the inputs of a model.
        bounds: of its targets, where they are numbers.
    """

    columns: Mapping[str, str]
    bounds: tuple[float, float] | None = None


SENTENCE = {TEXT: "sentence"}
SENTENCES = {TEXT_A: "sentence1", TEXT_B: "sentence2"}
# By the names of the files that are sent in.
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
    """Refuse what is no task of GLUE.

    Raises:
        ConfigError: there is none of that name; suggests the nearest.
    """
    if task not in TASKS:
        raise ConfigError(
            "GLUE has no such task", expected=f"one of {', '.join(TASKS)}", received=task, remedy=nearest(task, TASKS)
        )


def write(model: Predictor, task: str, path: str, folder: Path) -> Path:
    """Write the predictions for the test file of a task.

    Args:
        model: trained on the task; for AX, on MNLI.
        task: one of TASKS.
        path: the test file, as it comes.
        folder: for the file that is sent in, such as RTE.tsv; it appears when all rows have been read.

    Returns:
        the path of the file.

    Raises:
        ConfigError: the model is not trained on such a task.
        DataError: the file cannot be read, or there is no prediction for a row; names the place.
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
