"""Evaluation of an export, or of a model on a server, on a file of rows with known targets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.config.resolve import resolve
from tfattn.data.examples.label_targets import LabelSets
from tfattn.data.examples.targets import Target
from tfattn.data.preparation.input_statistics import STATISTICS, InputStatistics
from tfattn.errors import ConfigError
from tfattn.evaluation import classification, drift, evaluate, gold_rows, multi_label, regression, table_classification
from tfattn.evaluation.drift import InputDrift
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.gold_rows import GoldRows, UnknownLabels
from tfattn.evaluation.metrics import label_intervals, label_set_intervals
from tfattn.evaluation.served_ensemble import ServedEnsemble
from tfattn.evaluation.wording import count, quoted_list
from tfattn.features import ID, IS_LABEL, LABEL_IDS, LABEL_INDICATORS, LABELS, TARGET
from tfattn.formats.file_formats import InputKind
from tfattn.runs.run_export import CONFIG, export_of, is_run
from tfattn.serving.client import input_rows
from tfattn.serving.client.input_rows import InputRow
from tfattn.serving.client.local import LocalModel
from tfattn.serving.client.predict import Predictor
from tfattn.serving.commands import open_model
from tfattn.serving.engine.saved_model import EXPORT_AGAIN
from tfattn.trained.predictions import SplitPredictions

EXTRA = "assets.extra"
FLAGS = ("outside_training_range", "unknown_categories")  # outputs that list columns


@dataclass(frozen=True)
class NewRowsEvaluation:
    """The evaluation of a model on new rows.

    Attributes:
        task_report: the results that the report shows.
        report: report.html, next to metrics.json and predictions.jsonl.
        drift: the drift of each input, the largest first; empty if the training data are unknown.
        without_target: the number of rows without a target, which are left out.
        unknown: the number of rows of each label that the model does not have.
    """

    task_report: TaskReport
    report: Path
    drift: list[InputDrift]
    without_target: int
    unknown: Mapping[str, int]

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics by flat names, with intervals, and `drift/INPUT`."""
        return self.task_report.metrics

    @property
    def predictions(self) -> list[dict[str, Any]]:
        """A line per row, as in predictions.jsonl: its inputs, `target`, and the prediction."""
        return list(self.task_report.predictions)

    @property
    def warnings(self) -> Sequence[str]:
        """Reasons not to trust the metrics, a sentence each."""
        return self.task_report.headline.warnings

    def show(self) -> None:
        """Print the warnings, the main metrics and the path of the report."""
        evaluate.print_summary(self.task_report, self.report)


def evaluate_rows(
    model: str | Path | Predictor,
    path: str | Path,
    *,
    output: str | Path | None = None,
    target: str | None = None,
    unknown_labels: UnknownLabels = "leave_out",
    format: InputKind | None = None,
    batch_size: int = 64,
    folder: str | Path = "saved_models",
    token_file: Path | None = None,
) -> NewRowsEvaluation:
    """Evaluate a model on a file of rows with true targets, and write metrics, predictions and a report.

    Args:
        model: an export's folder or name, a run's folder (its export is evaluated), the address of a model on a server,
            or an opened model.
        path: the file, in a format that `tfattn predict` reads.
        output: the folder of the results; by default `evaluations/MODEL/NAME-OF-FILE`.
        target: the column of the true targets; by default the column of training, `target`, or the name of the role.
        unknown_labels: whether rows with labels that the model does not have are left out, or count as wrong.
        format: the format of the file, if neither the suffix nor the training file determines it.
        batch_size: the number of rows in a batch.
        folder: the folder of exports.
        token_file: a file with the bearer token that the server requires.

    Raises:
        ConfigError: the model predicts neither labels nor numbers, or the run has no export.
        DataError: the file cannot be read, a row is invalid, or there are no targets.
        ServingError: there is no such model.

    Example:
        >>> evaluate_rows("factory_reports", "gold.csv").metrics["accuracy"]
        0.94
    """
    path = str(path)
    opened = open_run_or_model(str(model), Path(folder), token_file) if isinstance(model, str | Path) else model
    rows = read_rows(opened, path, format)
    served = ServedEnsemble(opened, folder=Path(path).parent, batch_size=batch_size)
    [first] = served.outputs(rows[:1])
    kind = _target(opened, first)
    [role] = kind.roles
    column = gold_rows.target_column(
        rows[0].columns, role, trained_on=opened.trained_on.targets.get(role), named=target, path=path
    )
    labels = list(first.get("scores", ()))
    gold = gold_rows.select(rows, kind, column, labels=labels, unknown_labels=unknown_labels, path=path)
    unknown = sorted(gold.unknown) if unknown_labels == "wrong" else []
    statistics = statistics_of(opened)
    served = ServedEnsemble(
        opened,
        labels=[*labels, *unknown],
        folder=Path(path).parent,
        batch_size=batch_size,
        targets=_facts(kind, gold, statistics),
    )
    outputs = served.outputs(gold.rows)
    drifts = drift.measure(statistics, [row.fields for row in gold.rows]) if statistics else []
    report = _report(served, kind, gold, outputs)
    warnings = [*report.headline.warnings, *_left_out(gold, unknown_labels), *drift.warnings(drifts)]
    remark = f"The rows are those of {path}. Rows of the training data among them are not detected."
    report = replace(
        report,
        metrics=report.metrics | drift.metrics(drifts),
        headline=replace(report.headline, warnings=warnings, remarks=[*report.headline.remarks, remark]),
        sections=[*report.sections, *([drift.section(drifts, flags_of(outputs))] if drifts else [])],
    )
    name = model_name(model)
    results = Path(output) if output else Path("evaluations") / name / Path(path).stem
    page = evaluate.write_files(report, results, title=f"{name} on {Path(path).name}: {report.question}")
    return NewRowsEvaluation(report, page, drifts, gold.without_target, dict(gold.unknown))


def open_run_or_model(model: str, folder: Path, token_file: Path | None) -> Predictor:
    """Open a model on a server, an export, or the export of a run."""
    if is_run(model):
        model = str(export_of(model))
    return open_model(model, folder, token_file=token_file)


def model_name(model: str | Path | Predictor) -> str:
    """Name a model: an export by its folder, without the version."""
    if isinstance(model, LocalModel):
        model = model.folder
    if not isinstance(model, str | Path):
        return "model"
    names = [name for name in str(model).split("/") if name]
    return names[-2] if len(names) > 1 and (names[-1].isdigit() or is_run(model)) else names[-1]


def read_rows(opened: Predictor, path: str, format: InputKind | None) -> list[InputRow]:
    """Read all rows; the first invalid row is an error."""
    rows = []
    for row in input_rows.read(path, opened.trained_on, kind=format, lists=opened.lists):
        if row.problem:
            raise row.problem
        rows.append(row)
    return rows


def _target(opened: Predictor, outputs: Mapping[str, Any]) -> Target:
    """Return the targets of a model, by the names of its outputs."""
    found = gold_rows.target_of(outputs)
    if found is None:
        raise ConfigError(
            "the model cannot be evaluated on new rows",
            expected="a model that predicts a label, labels, or a number for each row",
            received=f"the outputs {', '.join(outputs)}",
            remedy="Name the file as `data.validation_source` of its pipeline, and run `tfattn evaluate`.",
        )
    if not isinstance(found, LabelSets) or not isinstance(opened, LocalModel):
        return found
    config = opened.folder / EXTRA / CONFIG
    settings = (resolve(config).values["data"].get("targets") or {}) if config.is_file() else {}
    return LabelSets(**{name: value for name, value in settings.items() if name == "separator"})


def statistics_of(opened: Predictor) -> InputStatistics | None:
    path = opened.folder / EXTRA / STATISTICS if isinstance(opened, LocalModel) else None
    return InputStatistics.read(path, remedy=EXPORT_AGAIN) if path and path.is_file() else None


def _facts(kind: Target, gold: GoldRows, statistics: InputStatistics | None) -> Mapping[str, Any]:
    """Return facts about the training targets; if they are unknown, mean and deviation of the evaluated rows."""
    if statistics is not None or kind.roles != (TARGET,):
        return statistics.targets if statistics else {}
    numbers = np.array([next(iter(kind.encode(row).values())) for row in gold.gold])
    return {"mean": float(numbers.mean()), "deviation": float(numbers.std()) or 1.0}


def _report(served: ServedEnsemble, kind: Target, gold: GoldRows, outputs: Sequence[Mapping[str, Any]]) -> TaskReport:
    """Build the report of a task, with bootstrap intervals of the metrics that have none."""
    if served.labels:
        kind.use({"labels": list(served.labels), "counts": [1] * len(served.labels), "rows": len(gold.rows)})
    encoded = [kind.encode(row) for row in gold.gold]
    targets = {name: np.array([example[name] for example in encoded]) for name in encoded[0]}
    values = served.arrays(outputs)
    predictions = SplitPredictions("new", _raw_rows(gold, served), values, targets, np.zeros(len(encoded), bool))
    intervals: dict[str, float] = {}
    if kind.roles == (TARGET,):
        report = regression.report(served, predictions)
    elif kind.roles == (LABELS,):
        report = multi_label.report(served, predictions)
        intervals = label_set_intervals(targets[LABEL_INDICATORS] > 0, values[IS_LABEL])
    else:
        make = table_classification.report if served.preprocessor.reads_columns else classification.report
        report = make(served, predictions)
        intervals = label_intervals(targets[LABEL_IDS], values[LABEL_IDS], values["scores"])
    metrics = {name: value for name, value in report.metrics.items() if name != "leaked_rows"}  # none are known
    return replace(report, metrics=metrics | intervals, predictions=list(report.predictions))


def _raw_rows(gold: GoldRows, served: ServedEnsemble) -> list[dict[str, Any]]:
    """Return the rows as the raw rows of a split: location, identifier, inputs and target."""
    ids = [served.trained_on.id_in(row.columns) for row in gold.rows]
    have_ids = all(identifier is not None for identifier in ids)
    return [
        {"row": row.where, **({ID: identifier} if have_ids else {}), **row.fields, **true.fields}
        for row, true, identifier in zip(gold.rows, gold.gold, ids, strict=True)
    ]


def _left_out(gold: GoldRows, unknown_labels: UnknownLabels) -> list[str]:
    """Warn of rows without a target, and of rows with unknown labels."""
    warnings = []
    if gold.without_target:
        warnings.append(f"{count(gold.without_target, 'row')} without a target are left out.")
    if gold.unknown:
        effect = "count as wrong" if unknown_labels == "wrong" else "are left out"
        names = quoted_list(list(gold.unknown))
        warnings.append(
            f"{count(gold.unknown.total(), 'row')} with labels that the model does not have {effect}: {names}."
        )
    return warnings


def flags_of(outputs: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Count the rows with values outside of the training range, or unknown categories, by column."""
    listed = (output[name] for output in outputs for name in FLAGS if output.get(name))
    return Counter(column for columns in listed for column in columns.split(", "))
