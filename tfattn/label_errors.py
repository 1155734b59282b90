"""The command that finds probable label errors in the rows of a pipeline."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import console, stages
from tfattn.config.resolve import resolve
from tfattn.config.schema import Config
from tfattn.data.examples.class_targets import Classes
from tfattn.data.preparation.survey import complete_rows
from tfattn.data.preparation.units import numbered_parts
from tfattn.data.section import Data
from tfattn.data.split_config import TEST, VALIDATION
from tfattn.errors import ConfigError, DataError
from tfattn.evaluation import label_error_report
from tfattn.evaluation.confident_learning import find_label_errors
from tfattn.evaluation.label_error_report import SuspectedRows
from tfattn.evaluation.out_of_fold import BASELINE, out_of_fold_scores
from tfattn.features import ID, LABEL_IDS
from tfattn.recipes.text_encoders import choose_encoder
from tfattn.runs.data import build_data
from tfattn.runs.run import Run
from tfattn.trained.ensemble import load
from tfattn.trained.predictions import predict_split

AUTO, RUN, ENCODER = "auto", "run", "minilm"


def label_errors(
    pipeline: str | Path,
    overrides: Sequence[str] | None = None,
    *,
    scores: str = AUTO,
    folds: int = 5,
    output: Path | None = None,
) -> SuspectedRows:
    """Find rows whose label is probably wrong, and write a list and a page.

    Args:
        pipeline: the pipeline file of a classification.
        overrides: `key=value` for each changed key.
        scores: "baseline", a model of scikit-learn; an encoder, as for `tfattn features`, for the mean of the baseline
            and a logistic regression of its frozen vectors; "run", the models of the trained run; or "auto": "minilm"
            for English texts, "baseline" for others.
        folds: the number of folds of the baseline and the encoder.
        output: the folder of the results; by default `label_errors/NAME`.

    Returns:
        the rows, with the label errors.

    Raises:
        ConfigError: the task does not have one class per row, the rows are images without `scores="run"`, or the run is
            not trained.
        DataError: a row cannot be read, there are fewer than two classes, or a class has fewer rows than folds.
    """
    config = resolve(pipeline, overrides)
    data = build_data(config)
    _check(config, data, scores)
    suspected = (
        _of_run(stages.open_run(pipeline, overrides)) if scores == RUN else _of_rows(config, data, scores, folds)
    )
    label_error_report.write(suspected, output or Path("label_errors") / config.values["name"])
    return suspected


def _check(config: Config, data: Data, scores: str) -> None:
    if not isinstance(data.targets, Classes) or data.source.has_examples:
        raise ConfigError(
            "label errors are found in rows with one class each",
            where=str(config.origins["task",]),
            expected="the task classification",
            received=config.values["task"]["name"],
        )
    if data.preprocessing.file_fields and scores != RUN:
        raise ConfigError(
            "images are scored by trained models only",
            expected="--scores run",
            received=f"--scores {scores}",
            remedy="Train the pipeline, with `ensemble.folds` or with validation rows.",
        )
    if data.preprocessing.reads_columns and scores not in (AUTO, RUN, BASELINE):
        raise ConfigError("an encoder reads texts", expected="--scores baseline", received=f"--scores {scores}")


def _of_rows(config: Config, data: Data, scores: str, folds: int) -> SuspectedRows:
    """Score all rows of the sources out of fold."""
    rows = [row for unit in numbered_parts(data) for row in complete_rows(data, unit)]
    for row in rows:
        data.preprocessing.check(row.fields, row.where)
        data.targets.check(row)
    names = [data.targets.stratum(row) for row in rows]
    labels = sorted(set(names))
    if len(labels) < 2:
        raise DataError("there are fewer than two classes", where=str(data.source.path), received=", ".join(labels))
    fields = [row.fields for row in rows]
    inputs = data.preprocessing.fields
    if scores == AUTO:
        scores = BASELINE if data.preprocessing.reads_columns else _best_for_texts(fields, inputs)
    console.note(f"scores: {scores}, {len(rows):,} rows, {folds} folds")
    given = np.array([labels.index(name) for name in names])
    group = data.split.group
    found = out_of_fold_scores(
        data.preprocessing,
        fields,
        given,
        labels=labels,
        groups=[row.fields[group].strip() for row in rows] if group else None,
        scores=scores,
        folds=folds,
        seed=config.values["seed"],
    )
    encoder = f" and a linear model of the vectors of {scores}" if scores != BASELINE else ""
    return SuspectedRows(
        name=config.values["name"],
        labels=labels,
        fields=inputs,
        rows=fields,
        locations=[row.where for row in rows],
        ids=[str(row.fields[ID]) for row in rows] if ID in data.source.fields else [],
        given=given,
        scores=found,
        found=find_label_errors(given, found),
        scored_by=f"a model of scikit-learn{encoder}, trained on {folds} folds",
    )


def _best_for_texts(rows: Sequence[dict[str, Any]], inputs: Sequence[str]) -> str:
    is_english = choose_encoder([[str(row[name]) for name in inputs] for row in rows[:2000]]).pretrained
    return ENCODER if is_english else BASELINE


def _of_run(run: Run) -> SuspectedRows:
    """Score the rows of a trained run that its models were not trained on: all rows, if it has folds."""
    if not all(member.stage_log.is_done("train") for member in run.members):
        raise ConfigError(
            "the run is not trained",
            where=str(run.folder),
            remedy="Train it with `tfattn train`, or omit `--scores run`.",
        )
    ensemble = load(run)
    splits = [split for split in (VALIDATION, TEST) if split in run.members[0].facts["splits"]]
    parts = [predict_split(run, ensemble, split) for split in splits]
    rows = [row for part in parts for row in part.rows]
    given = np.concatenate([part.targets[LABEL_IDS] for part in parts])
    scores = np.concatenate([part.values["scores"] for part in parts]).astype(float)
    folds = len(run.datasets)
    console.note(f"scores: of the run {run.folder}, {len(rows):,} rows that its models were not trained on")
    what = f"the {folds} folds" if folds > 1 else "the validation and test rows only"
    return SuspectedRows(
        name=run.name,
        labels=ensemble.labels,
        fields=[name for name in ensemble.preprocessor.fields if name not in ensemble.preprocessor.file_fields],
        rows=rows,
        locations=[row["row"] for row in rows],
        ids=[str(row[ID]) for row in rows] if all(ID in row for row in rows) else [],
        given=given,
        scores=scores,
        found=find_label_errors(given, scores),
        scored_by=f"the models of the run {run.id}, of {what}",
    )
