"""The files of an evaluation in a run folder: metrics, predictions, plots and report."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tfattn import console, files
from tfattn.config.show import to_yaml
from tfattn.data.preparation.summary import SUMMARY, read_summary
from tfattn.data.split_config import VALIDATION
from tfattn.evaluation import report, sections, warnings
from tfattn.evaluation.baseline import Comparison
from tfattn.runs.run import Run
from tfattn.training.environment import ENVIRONMENT, Environment

# Patterns of the files that `write` creates.
WARNINGS = "warnings.json"
OUTPUTS = ("metrics.json", WARNINGS, "predictions.jsonl", "*.tsv", "report.html", "plots/*")


@dataclass(frozen=True)
class TaskReport:
    """The results of the evaluation of an ensemble on a split.

    Args:
        question: the question that a prediction answers, the title of the page.
        measured: the size of the data, such as "96 validation texts, 4 labels".
        metrics: metrics by flat names.
        predictions: a JSON-like dictionary per row, in order.
        headline: the main metric with an explanation.
        sections: the pictures and tables.
        unit: the name of a row: "text", "row" ...
        summary: a line for the console.
        console_table: title, columns and rows of a table for the console, or None.
        tables: file name to rows of a tab-separated file, the header first.
        baselines: validation metrics without a model, by name, for the training curves.
    """

    question: str
    measured: str
    metrics: dict[str, float]
    predictions: Iterable[dict[str, Any]]
    headline: report.Headline
    sections: Sequence[report.Section]
    unit: str
    summary: str
    console_table: tuple[str, Sequence[str], Sequence[Sequence[Any]]] | None = None
    tables: Mapping[str, Iterable[Sequence[str]]] = field(default_factory=dict)
    baselines: Mapping[str, float] = field(default_factory=dict)


def write(
    task_report: TaskReport,
    run: Run,
    *,
    split: str,
    chosen: Sequence[str] = (),
    baseline: Comparison | None = None,
    outcome: Sequence[str] = (),
) -> None:
    """Write the metrics, warnings, predictions, tables, plots and the report into the folder of a run.

    The report ends with the training curves (from `history.jsonl`, if it exists), the data (from `summary.json` of the
    prepared data) and the configuration.

    Args:
        task_report: the results.
        run: the evaluated run.
        split: the evaluated split.
        chosen: descriptions of the choices made on validation rows.
        baseline: the comparison with a trained baseline, if there is one.
        outcome: warnings about the training, see `outcome_warnings`.
    """
    history, prepared = run.folder / "history.jsonl", run.members[0].prepared
    headline, shown = task_report.headline, list(task_report.sections)
    compared = [baseline.sentence] if baseline else []
    remarks = [*headline.remarks, *compared, unseen(task_report.unit, split=split, chosen=chosen)]
    headline = replace(headline, remarks=remarks, warnings=[*headline.warnings, *outcome])
    if history.is_file() and (lines := files.read_json_lines(history, dict[str, int | float])):
        selection = run.config.at("training", "selection")
        shown.append(sections.training(lines, selection=selection, baselines=task_report.baselines))
    if (prepared / SUMMARY).is_file():
        found = read_summary(prepared)
        headline = replace(headline, warnings=[*headline.warnings, *warnings.of_data(found, unit=task_report.unit)])
        shown.append(sections.data(found))
    trained_on = files.read_json(run.members[0].folder / ENVIRONMENT, Environment)
    shown.append(sections.configuration(to_yaml(run.config), str(trained_on)))

    shown_report = replace(
        task_report,
        headline=headline,
        sections=shown,
        metrics={**task_report.metrics, **(baseline.metrics if baseline else {})},
        summary="\n".join([task_report.summary, *compared]),
    )
    page = write_files(shown_report, run.folder, title=f"{run.name}: {task_report.question}")
    print_summary(shown_report, page)


def write_files(task_report: TaskReport, folder: Path, *, title: str) -> Path:
    """Write the files of `OUTPUTS`: metrics, warnings, predictions, tables, plots and the page, whose path it returns.

    Args:
        task_report: the results.
        folder: the folder of the files.
        title: the title of the page.
    """
    files.write_json(folder / "metrics.json", task_report.metrics)
    files.write_json(folder / WARNINGS, list(task_report.headline.warnings))
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in task_report.predictions)
    with files.atomic_file(folder / "predictions.jsonl") as path, open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    for name, rows in task_report.tables.items():
        _write_table(folder / name, rows)
    measured = f"{task_report.measured}, evaluated on {datetime.now():%d %B %Y at %H:%M}"
    report.write(report.Report(title, measured, task_report.headline, task_report.sections), folder)
    return folder / "report.html"


def unseen(unit: str, *, split: str, chosen: Sequence[str]) -> str:
    """Return a sentence about the influence of the evaluated rows on training.

    Args:
        unit: the name of a row.
        split: the evaluated split.
        chosen: descriptions of the choices made on validation rows.
    """
    text = f"The model was not trained on these {unit}s"
    if split != VALIDATION or not chosen:
        return f"{text}, and no choice was based on them."
    return f"{text}, but they were used to choose {' and '.join(chosen)}: results on new {unit}s may be slightly worse."


def _write_table(path: Path, rows: Iterable[Sequence[str]]) -> None:
    with files.atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)


def print_summary(task_report: TaskReport, page: Path) -> None:
    """Print the warnings, the path of the page, and the main metrics."""
    for warning in task_report.headline.warnings:
        console.note(f"note: {warning}")
    console.note(f"report: {page}")
    if task_report.console_table is not None:
        console.table(*task_report.console_table)
    console.note(task_report.summary)
