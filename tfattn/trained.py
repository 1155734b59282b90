"""What a run has trained: its models with their best weights, and what they answer together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfattn import catalog, files
from tfattn.config.build import build
from tfattn.config.schema import Config
from tfattn.data.prepare import Facts, read_facts
from tfattn.data.raw_rows import read_leaked, read_rows
from tfattn.data.reader import Reader
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.split import TEST, TRAIN, VALIDATION
from tfattn.errors import DataError
from tfattn.evaluation.evaluate import Member
from tfattn.export.served import Served
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.runs import Run
from tfattn.tasks.task import Task
from tfattn.training import checkpoints
from tfattn.training.compiled import compiled
from tfattn.training.prediction import predict
from tfattn.training.runtime import Runtime

Answers = dict[str, np.ndarray]


@dataclass(frozen=True)
class Answered:
    """What the models of a run answer to the N rows of a split.

    Attributes:
        answers: of all together, each (N, ...); none to rows that a model was trained on.
        targets: what would be right, each (N, ...).
        loss: the mean of the models.
        rows: the N raw rows.
        members: what each of several models answers alone, to all rows or to those of its fold; none of a single one.
    """

    answers: Answers
    targets: Answers
    loss: float
    rows: list[dict[str, str]]
    members: list[Member]


class Trained:
    """The models of a run, computing in float32 on one device, as the export will.

    Args:
        run: what has been trained.

    Attributes:
        runs: of each model.
        preprocessors, tasks: of each model.
        labels: the classes in the order of their ids; none where rows have no labels.
        split: the rows that measure: "test" where there are any, else "validation".
    """

    def __init__(self, run: Run):
        self.runs = run.members
        self._runtime = Runtime(precision="float32", strategy="one_device").start(run.seed)
        self.tasks = [self._task(member) for member in self.runs]
        self.preprocessors = [preprocessor_of(member) for member in self.runs]
        self._functions = [compiled(lambda x, task=task: task.predictions(task(x))) for task in self.tasks]
        self.labels = labels_of(self.runs)
        self.split = TEST if TEST in facts_of(self.runs[0])["splits"] else VALIDATION

    def served(self) -> Served:
        """What is exported."""
        members = list(zip(self.preprocessors, self.tasks, strict=True))
        kind = catalog.find("signatures", self.runs[0].config.values["task"]["name"])
        return kind(members=members, **({"labels": self.labels} if self.labels else {}))

    def settle(self) -> dict[str, Any]:
        """Lets the task decide what validation rows decide; what it was."""
        if not self.tasks[0].settles:
            return {}
        validation = self.answers(VALIDATION)
        decisions = self.tasks[0].settle(validation.answers, validation.targets)
        for task in self.tasks:
            task.settled(decisions)
        return decisions

    def answers(self, split: str) -> Answered:
        """What the models answer together to the rows of a split, none to rows that it was trained on."""
        members, losses = [], []
        parts: dict[str, list[Member]] = {}
        for run, task in zip(self.runs, self.tasks, strict=True):
            answers, targets, loss = predict(task, reader_of(run, split), self._runtime)
            members.append(Member(_name_of(run, self.runs), self._combined([answers]), targets))
            losses.append(loss)
            # Each fold has other validation rows, all have the same test rows, and all seeds the same of both.
            parts.setdefault(split if split == TEST else str(run.prepared), []).append(members[-1])
        runs = {split if split == TEST else str(run.prepared): run for run in self.runs}
        return Answered(
            answers=_joined([self._combined([member.answers for member in part]) for part in parts.values()]),
            targets=_joined([part[0].targets for part in parts.values()]),
            loss=float(np.mean(losses)),
            rows=[row for key in parts for row in rows_of(runs[key], split)],
            members=members if len(members) > 1 else [],
        )

    def leaked(self, split: str) -> set[str]:
        """The places of the rows of a split that repeat what the model that answers them was trained on."""
        found = (zip(rows_of(run, split), read_leaked(run.prepared, split), strict=True) for run in self.runs)
        return {row["row"] for rows in found for row, is_leaked in rows if is_leaked}

    def expected(self) -> tuple[Answers, list[dict[str, str]]]:
        """What all models together answer to rows that none or only some of them were trained on, and these rows."""
        if self.split == VALIDATION and len({run.prepared for run in self.runs}) > 1:
            rows = rows_of(self.runs[0], VALIDATION)
            return self._combined([self._ask(number, rows) for number in range(len(self.runs))]), rows
        answered = self.answers(self.split)
        return answered.answers, answered.rows

    @property
    def fields(self) -> tuple[str, ...]:
        """The raw fields that the models read."""
        return tuple(self.preprocessors[0].fields)

    def asks(self) -> list[Callable[[Sequence[dict[str, str]]], np.ndarray]]:
        """For each model, a function from raw rows of a table to scores (N, C)."""
        return [lambda rows, number=number: self._ask(number, rows)["scores"] for number in range(len(self.runs))]

    def _ask(self, number: int, rows: Sequence[dict[str, str]]) -> Answers:
        fields = {name: tf.constant([row[name] for row in rows]) for name in self.fields}
        answers = self._functions[number](self.preprocessors[number](fields))
        return {name: value.numpy() for name, value in answers.items()}

    def _combined(self, answers: Sequence[Answers]) -> Answers:
        together = self.tasks[0].combined(answers)
        return {name: keras.ops.convert_to_numpy(value) for name, value in together.items()}

    def _task(self, run: Run) -> Task:
        task = task_of(run)
        checkpoints.load_weights(task, run.folder / "checkpoints")
        return task


def task_of(run: Run) -> Task:
    """The model of a run and the task on it, untrained, with all that the data say about their sizes."""
    # Seeding first: it clears TensorFlow's cache of kernels, and with it every SentencePiece model that tf-text holds.
    keras.utils.set_random_seed(run.training_seed)
    return task_on(run, preprocessor_of(run))


def task_on(run: Run, preprocessor: Preprocessor) -> Task:
    """The same without a seed, on the fitted preprocessor."""
    facts = facts_of(run)
    counts = facts["splits"][TRAIN]["class_counts"]
    model = build(run.config, "model", **preprocessor.sizes)
    return task_from(run.config, model, preprocessor, labels=facts["labels"], class_counts=counts)


def task_from(
    config: Config,
    model: keras.Model,
    preprocessor: Preprocessor,
    *,
    labels: list[str] | None,
    class_counts: list[int],
) -> Task:
    """The task of a configuration, on its model.

    Args:
        config: a checked configuration.
        model: its model.
        preprocessor: what the model reads.
        labels: the classes in the order of their ids; None if they are not known yet.
        class_counts: training rows of each class.
    """
    return build(
        config,
        "task",
        model=model,
        preprocessor=preprocessor,
        num_classes=len(class_counts),
        labels=labels,
        class_counts=class_counts,
    )


def preprocessor_of(run: Run) -> Preprocessor:
    """The preprocessing of a run, as it was fitted."""
    preprocessor: Preprocessor = build(run.config, "data", "preprocessing")
    files.verify(run.prepared, "preprocessing/*", remedy=PREPARE_AGAIN)
    preprocessor.load(run.prepared / "preprocessing")
    return preprocessor


def reader_of(run: Run, split: str, **options: Any) -> Reader:
    """Reads a split of a run; `folder` reads it from elsewhere."""
    options = {"folder": run.prepared, "seed": run.training_seed, "shuffle": split == TRAIN} | options
    return Reader(split=split, batching=build(run.config, "data", "batching"), **options)


def facts_of(run: Run) -> Facts:
    """What was written down about the prepared data."""
    return read_facts(run.prepared)


def rows_of(run: Run, split: str) -> list[dict[str, str]]:
    """The raw rows of a split, in the order of its records."""
    return read_rows(run.prepared, split)


def labels_of(runs: Sequence[Run]) -> list[str]:
    """The labels of all models of a run. A fold may lack a rare one, and then the others' ids mean something else.

    Raises:
        DataError: they do not have the same.
    """
    labels: list[str] = facts_of(runs[0])["labels"]
    for run in runs[1:]:
        if facts_of(run)["labels"] != labels:
            raise DataError(
                "the folds have different labels",
                expected=", ".join(labels),
                received=", ".join(facts_of(run)["labels"]),
                remedy="List all of them as `data.labels`.",
            )
    return labels


def _name_of(run: Run, runs: Sequence[Run]) -> str:
    """By what a run differs from the others."""
    fold = run.config.values["data"]["split"].get("fold")
    folds = {other.config.values["data"]["split"].get("fold") for other in runs}
    seeds = {other.training_seed for other in runs}
    names = [f"fold {fold + 1}"] if len(folds) > 1 else []
    return ", ".join([*names, f"seed {run.training_seed}"] if len(seeds) > 1 else names)


def _joined(parts: Sequence[Answers]) -> Answers:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
