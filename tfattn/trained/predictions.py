"""What an ensemble predicts for the rows of a split, none by a model that was trained on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from tfattn import files
from tfattn.data.raw_rows import read_leaked
from tfattn.data.reader import Reader
from tfattn.data.split_config import TEST, VALIDATION
from tfattn.rows import joined_rows
from tfattn.runs.member import Member
from tfattn.runs.run import Run
from tfattn.trained.ensemble import OPERATING_POINT, TrainedEnsemble
from tfattn.training.prediction import Evaluator, as_arrays, predict
from tfattn.training.runtime import Runtime

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class MemberPredictions:
    """What one of several models predicts alone.

    Args:
        name: by what it differs from the others, such as "seed 8" or "fold 2".
        values: by name, each (M, ...), for all rows or those of its fold.
        targets: what would be right, each (M, ...).
    """

    name: str
    values: Columns
    targets: Columns


@dataclass(frozen=True)
class SplitPredictions:
    """What an ensemble predicts for the N rows of a split, beside what would be right.

    Args:
        split: "test" or "validation".
        rows: the N raw rows: `row` (file:line), `label`, and whatever else the source gives.
        values: by name, each (N, ...): of all models that were not trained on the row.
        targets: what would be right, each (N, ...).
        leaked: (N,) bool, whether a row that the model was trained on repeats the row.
        members: what each of several models predicts alone; none of a single one.
        metrics: of a task that predicts nothing of rows, in place of values and targets, those of the split's records.
        reader: reads the prepared records of a split, those of the first model.
    """

    split: str
    rows: Sequence[dict[str, str]]
    values: Columns
    targets: Columns
    leaked: np.ndarray
    members: Sequence[MemberPredictions] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    reader: Callable[[str], Reader] | None = None


class Asked(Protocol):
    """What an export is asked whose task predicts nothing of rows.

    Attributes:
        ensemble: the models, as they read questions.
    """

    ensemble: TrainedEnsemble

    def questions(self, rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        """Make questions of raw rows, each with the fields that the models read, and `row`."""


def measuring_split(run: Run) -> str:
    """Choose the split whose rows measure: "test" where there is one, else "validation"."""
    return TEST if TEST in run.members[0].facts["splits"] else VALIDATION


def predict_split(run: Run, ensemble: TrainedEnsemble, split: str) -> SplitPredictions:
    """Predict for the prepared rows of a split, on one device.

    Args:
        run: what the ensemble was loaded from.
        ensemble: its models.
        split: "test" or "validation"; each fold has validation rows of its own, which its models predict for.
    """
    runtime = Runtime(precision="float32", strategy="one_device").start()
    if not ensemble.task.predicts_rows:
        return _measured(run, ensemble, split, runtime)
    each = [
        predict(task, member.reader(split), runtime) for member, task in zip(run.members, ensemble.tasks, strict=True)
    ]
    members = [
        MemberPredictions(_name_of(member, run.members), as_arrays(ensemble.combined([one.values])), one.targets)
        for member, one in zip(run.members, each, strict=True)
    ]
    # Each fold has other validation rows, all have the same test rows, and all seeds the same of both.
    parts: dict[Path | str, list[int]] = {}
    for number, member in enumerate(run.members):
        parts.setdefault(TEST if split == TEST else member.prepared, []).append(number)
    firsts = [part[0] for part in parts.values()]
    together = [as_arrays(ensemble.combined([members[number].values for number in part])) for part in parts.values()]
    rows = [row for first in firsts for row in _chosen(run.members[first].rows(split), each[first].rows)]
    leaked = _leaked(run, split)
    return SplitPredictions(
        split=split,
        rows=rows,
        values=_joined(together),
        targets=_joined([members[first].targets for first in firsts]),
        leaked=np.array([row["row"] in leaked for row in rows], bool),
        members=members if len(members) > 1 else (),
        reader=run.members[0].reader,
    )


def _measured(run: Run, ensemble: TrainedEnsemble, split: str, runtime: Runtime) -> SplitPredictions:
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
    run: Run, ensemble: TrainedEnsemble, asked: Asked | None = None
) -> tuple[list[dict[str, str]], Columns]:
    """Predict with all models for rows that at least one was not trained on: what an export has to predict as well.

    Args:
        run: what the ensemble was loaded from.
        ensemble: its models.
        asked: the export, needed where the task predicts nothing of rows: it makes questions of them.

    Returns:
        N raw rows, or questions, and by name the predictions, each (N, ...).
    """
    split = measuring_split(run)
    if not ensemble.task.predicts_rows:
        rows = asked.questions(run.members[0].rows(split))
        return rows, asked.ensemble.predict(rows)
    if split == VALIDATION and len(run.datasets) > 1:
        rows = run.members[0].rows(split)
        return rows, ensemble.predict(rows)
    predicted = predict_split(run, ensemble, split)
    return list(predicted.rows), predicted.values


def choose_operating_point(run: Run, ensemble: TrainedEnsemble) -> None:
    """Let the validation rows choose, where the task wants that, and keeps it as `operating_point.json` of the run."""
    ensemble.operating_point = None
    if ensemble.task.has_operating_point:
        validation = predict_split(run, ensemble, VALIDATION)
        ensemble.operating_point = ensemble.task.choose_operating_point(
            validation.values, validation.targets, validation.rows
        )
        files.write_json(run.folder / OPERATING_POINT, asdict(ensemble.operating_point))


def _chosen(rows: Sequence[dict[str, str]], numbers: np.ndarray) -> list[dict[str, str]]:
    return [rows[number] for number in numbers]


def _leaked(run: Run, split: str) -> set[str]:
    """Find the places of the rows of a split that repeat what the model that predicts for them was trained on."""
    found = (zip(one.rows(split), read_leaked(one.prepared, split), strict=True) for one in run.datasets)
    return {row["row"] for rows in found for row, is_leaked in rows if is_leaked}


def _name_of(member: Member, others: Sequence[Member]) -> str:
    """By what a member differs from the others."""
    fold = member.config.values["data"]["split"].get("fold")
    folds = {other.config.values["data"]["split"].get("fold") for other in others}
    seeds = {other.training_seed for other in others}
    names = [f"fold {fold + 1}"] if len(folds) > 1 else []
    return ", ".join([*names, f"seed {member.training_seed}"] if len(seeds) > 1 else names)


def _joined(parts: Sequence[Columns]) -> Columns:
    return {name: joined_rows([part[name] for part in parts]) for name in parts[0]}
