"""Calibration of a trained run on rows that neither train nor measure it."""

import dataclasses

from tfattn import files
from tfattn.config.build import build, locate_errors
from tfattn.config.schema import Config
from tfattn.data.preparation.summary import read_summary
from tfattn.data.section import Data
from tfattn.data.split_config import CALIBRATION, VALIDATION
from tfattn.errors import ConfigError, DataError, listed
from tfattn.runs.ensemble import build_ensemble
from tfattn.runs.member import Member
from tfattn.runs.run import Run
from tfattn.tasks.calibration import Calibration
from tfattn.tasks.conformal import check_rows
from tfattn.tasks.task import Task
from tfattn.trained.ensemble import CALIBRATOR, OPERATING_POINT, TrainedEnsemble
from tfattn.trained.predictions import predict_split

SECTION = "calibration"


def calibrate(run: Run, ensemble: TrainedEnsemble) -> None:
    """Fit the calibrator and the operating point of a run, and save them in its folder.

    The calibrator is fitted to the mean predictions of all models. The operating point is a threshold of calibrated
    scores.

    Raises:
        DataError: there are too few calibration rows.
    """
    ensemble.operating_point = ensemble.calibrator = None
    for name in (OPERATING_POINT, CALIBRATOR):
        (run.folder / name).unlink(missing_ok=True)
    for member in run.datasets:
        check_calibration_rows(member)
    options = _options(run.config)
    split, task = calibration_split(run), ensemble.task
    if options and (options.temperature or options.coverage):
        found = predict_split(run, ensemble, split)
        ensemble.calibrator = task.calibrate(found.values, found.targets, options=options, split=split)
        files.write_json(run.folder / CALIBRATOR, dataclasses.asdict(ensemble.calibrator))
    criterion = options.threshold if options else None
    if criterion or task.has_operating_point:
        found = predict_split(run, ensemble, split)
        point = task.choose_operating_point(found.values, found.targets, found.rows, criterion)
        ensemble.operating_point = dataclasses.replace(point, split=split)
        files.write_json(run.folder / OPERATING_POINT, dataclasses.asdict(ensemble.operating_point))


def calibration_split(run: Run) -> str:
    """Return the split that calibrates: "calibration" if there is one, else "validation"."""
    return _split(run.members[0])


def _split(member: Member) -> str:
    return CALIBRATION if CALIBRATION in member.facts["splits"] else VALIDATION


def check_section(config: Config, task: Task, data: Data) -> None:
    """Check the `calibration` section before data are read.

    Raises:
        ConfigError: the task lacks an option, there are no calibration rows, or the models of an ensemble have
            different evaluated rows.
    """
    options = _options(config)
    if options is None:
        return
    with locate_errors(config, SECTION):
        name = config.values["task"]["name"]
        if missing := [key for key in options.used if key not in task.calibratable]:
            expected = f"one of {listed(task.calibratable)}" if task.calibratable else "no `calibration` section"
            raise ConfigError(f"the task {name} has no such calibration", key=missing[0], expected=expected)
        if options.threshold:
            _check_threshold(config, task)
    has_test = bool(data.split.test or data.split.hold_out)
    if not data.split.calibration and not has_test:
        with locate_errors(config, "data"):
            raise ConfigError(
                "there are no calibration rows",
                key="split.calibration",
                expected="a fraction above 0",
                received="0, and no test rows, so that the validation rows measure",
                remedy="Set `data.split.calibration: 0.2`: rows that calibrate cannot measure, too.",
            )
    if build_ensemble(config).folds and not has_test:
        with locate_errors(config, "ensemble"):
            raise ConfigError(
                "a calibrated ensemble of folds needs test rows",
                key="folds",
                expected="`data.split.test` above 0, or `ensemble.seeds` instead of folds",
                received="validation rows, which the models of one fold predict",
                remedy="The calibration is that of the mean of all models, which is measured on test rows only.",
            )


def _check_threshold(config: Config, task: Task) -> None:
    if config.values["task"].get("specificity") is not None:
        raise ConfigError(
            "the operating point is given twice",
            key="threshold",
            expected="either `task.specificity` or `calibration.threshold`",
            received="both",
        )
    if getattr(task, "positive_id", 0) is None:
        raise ConfigError(
            "there is no positive label for a threshold",
            key="threshold",
            expected="`task.positive`, one of the labels",
        )


def check_calibration_rows(member: Member) -> None:
    """Check the number of calibration rows of prepared data, of each label where there are labels.

    Raises:
        DataError: there are too few, or a label has none.
    """
    options = _options(member.config)
    if options is None:
        return
    split = _split(member)
    if options.coverage and not options.by_class:
        check_rows(member.facts["splits"][split]["rows"], options.coverage)
    classes = {name: counts[split] for name, counts in read_summary(member.prepared)["classes"].items()}
    if lacking := [name for name, rows in classes.items() if not rows]:
        raise DataError(
            "a label has no calibration row" if len(lacking) == 1 else f"{len(lacking)} labels have no calibration row",
            where=str(member.prepared),
            expected=f"at least one {split} row of each label",
            received=f"none of {listed(lacking)}",
            remedy="Raise `data.split.calibration`, set `data.split.stratify: true`, or take the label out.",
        )
    if options.by_class:
        for name, rows in classes.items():
            check_rows(rows, options.coverage, of=f"the label {name!r}")


def _options(config: Config) -> Calibration | None:
    return None if config.values.get(SECTION) is None else build(config, SECTION)
