"""Predictions of an ensemble for the rows of a split, each by models that were not trained on the row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from tfattn.data.reader import Reader
from tfattn.data.sources.raw_rows import read_leaked
from tfattn.data.split_config import CALIBRATION, TEST, VALIDATION
from tfattn.rows import joined_rows
from tfattn.runs.member import Member
from tfattn.runs.run import Run
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.training.prediction import Evaluator, as_arrays, predict
from tfattn.training.runtime import Runtime

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class MemberPredictions:
    """The predictions of a single member of an ensemble.

    Args:
        name: the member's difference from the others, such as "seed 8" or "fold 2".
        values: predictions by name, each (M, ...), for all rows or the rows of its fold.
        targets: the true values, each (M, ...).
    """

    name: str
    values: Columns
    targets: Columns


@dataclass(frozen=True)
class SplitPredictions:
    """The predictions of an ensemble for the N rows of a split, with the targets.

    Args:
        split: "test" or "validation".
        rows: the N raw rows: `row` (file:line), `label`, and all other fields of the source.
        values: predictions by name, each (N, ...), by all models that were not trained on the row.
        targets: the true values, each (N, ...).
        leaked: (N,) bool, whether the row repeats a training row of the model.
        members: the predictions of each member; empty for a single model.
        metrics: the metrics of the split's records, for a task without predictions of rows, instead of values and
            targets.
        reader: returns the reader of the first model for a split.
    """

    split: str
    rows: Sequence[dict[str, str]]
    values: Columns
    targets: Columns
    leaked: np.ndarray
    members: Sequence[MemberPredictions] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    reader: Callable[[str], Reader] | None = None


class QuestionSource(Protocol):
    """Sample questions for an export whose task has no predictions of rows.

    Attributes:
        ensemble: the models, with preprocessors that read the questions.
    """

    ensemble: TrainedEnsemble

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Make questions from raw rows, each with the models' fields and `row`."""


def evaluation_split(run: Run) -> str:
    """Return the split for evaluation: "test" if there is one, else "validation"."""
    return TEST if TEST in run.members[0].facts["splits"] else VALIDATION


def predict_split(run: Run, ensemble: TrainedEnsemble, split: str) -> SplitPredictions:
    """Predict the prepared rows of a split, on one device.

    Args:
        run: the run of the ensemble.
        ensemble: the trained models.
        split: "test", "calibration" or "validation"; the models of each fold predict the validation rows of their
            fold.
    """
    runtime = Runtime(precision="float32", strategy="one_device").start()
    if not ensemble.task.predicts_rows:
        return _evaluate_records(run, ensemble, split, runtime)
    if split not in ensemble.predicted:  # evaluation and export need the same predictions
        ensemble.predicted[split] = [
            predict(task, member.reader(split), runtime)
            for member, task in zip(run.members, ensemble.tasks, strict=True)
        ]
    predicted = ensemble.predicted[split]
    members = [
        MemberPredictions(_member_name(member, run.members), as_arrays(ensemble.combined([part.values])), part.targets)
        for member, part in zip(run.members, predicted, strict=True)
    ]
    # Folds have different validation rows, and the same test and calibration rows; seeds have the same rows of all.
    groups: dict[Path | str, list[int]] = {}
    for index, member in enumerate(run.members):
        groups.setdefault(split if split in (TEST, CALIBRATION) else member.prepared, []).append(index)
    firsts = [group[0] for group in groups.values()]
    combined = [as_arrays(ensemble.combined([predicted[index].values for index in group])) for group in groups.values()]
    raw_rows = {first: run.members[first].rows(split) for first in firsts}
    rows = [raw_rows[first][index] for first in firsts for index in predicted[first].rows]
    leaked = _leaked(run, split)
    return SplitPredictions(
        split=split,
        rows=rows,
        values=_join(combined),
        targets=_join([members[first].targets for first in firsts]),
        leaked=np.array([row["row"] in leaked for row in rows], bool),
        members=members if len(members) > 1 else (),
        reader=run.members[0].reader,
    )


def _evaluate_records(run: Run, ensemble: TrainedEnsemble, split: str, runtime: Runtime) -> SplitPredictions:
    """Compute the metrics of a split's records."""
    (member,) = run.members
    metrics = Evaluator(ensemble.task, runtime)(member.reader(split))
    rows = member.rows(split)
    return SplitPredictions(
        split=split,
        rows=rows,
        values={},
        targets={},
        leaked=np.asarray(read_leaked(member.prepared, split), bool),
        metrics=metrics,
        reader=member.reader,
    )


def predict_for_parity(
    run: Run, ensemble: TrainedEnsemble, source: QuestionSource | None = None
) -> tuple[list[dict[str, str]], Columns]:
    """Predict rows with all models, as the reference of the parity check of an export.

    At least one model was not trained on each row.

    Args:
        run: the run of the ensemble.
        ensemble: the trained models.
        source: the export, which makes questions from rows; required if the task has no predictions of rows.

    Returns:
        N raw rows, or questions, and predictions by name, each (N, ...).
    """
    split = evaluation_split(run)
    if not ensemble.task.predicts_rows:
        rows = source.questions(run.members[0].rows(split))
        return rows, source.ensemble.predict(rows)
    if split == VALIDATION and len(run.datasets) > 1:
        rows = run.members[0].rows(split)
        return rows, ensemble.predict(rows)
    predicted = predict_split(run, ensemble, split)
    return list(predicted.rows), predicted.values


def _leaked(run: Run, split: str) -> set[str]:
    """Return the locations (file:line) of the rows of a split that repeat training rows of their model."""
    found = (zip(member.rows(split), read_leaked(member.prepared, split), strict=True) for member in run.datasets)
    return {row["row"] for rows in found for row, is_leaked in rows if is_leaked}


def _member_name(member: Member, others: Sequence[Member]) -> str:
    """Name a member by its difference from the others."""
    fold = member.config.values["data"]["split"].get("fold")
    folds = {other.config.values["data"]["split"].get("fold") for other in others}
    seeds = {other.training_seed for other in others}
    names = [f"fold {fold + 1}"] if len(folds) > 1 else []
    return ", ".join([*names, f"seed {member.training_seed}"] if len(seeds) > 1 else names)


def _join(parts: Sequence[Columns]) -> Columns:
    return {name: joined_rows([part[name] for part in parts]) for name in parts[0]}
