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
from tfattn.data.split_config import VALIDATION
from tfattn.data.summary import SUMMARY, read_summary
from tfattn.evaluation import report, sections, warnings
from tfattn.runs.run import Run
from tfattn.training.environment import ENVIRONMENT, Environment

# Patterns of the files that `write` creates.
OUTPUTS = ("metrics.json", "predictions.jsonl", "*.tsv", "report.html", "plots/*")


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


def write(task_report: TaskReport, run: Run, *, split: str, chosen: Sequence[str] = ()) -> None:
    """Write `metrics.json`, `predictions.jsonl`, `plots/*.svg`, `report.html` and tables into the folder of a run.

    The report ends with the training curves (from `history.jsonl`, if it exists), the data (from `summary.json` of the
    prepared data) and the configuration.

    Args:
        task_report: the results.
        run: the evaluated run.
        split: the evaluated split.
        chosen: descriptions of the choices made on validation rows.
    """
    history, prepared = run.folder / "history.jsonl", run.members[0].prepared
    headline, shown = task_report.headline, list(task_report.sections)
    headline = replace(headline, remarks=[*headline.remarks, unseen(task_report.unit, split=split, chosen=chosen)])
    if history.is_file() and (lines := files.read_json_lines(history, dict[str, int | float])):
        selection = run.config.at("training", "selection")
        shown.append(sections.training(lines, selection=selection, baselines=task_report.baselines))
    if (prepared / SUMMARY).is_file():
        found = read_summary(prepared)
        headline = replace(headline, warnings=[*headline.warnings, *warnings.of_data(found, unit=task_report.unit)])
        shown.append(sections.data(found))
    trained_on = files.read_json(run.members[0].folder / ENVIRONMENT, Environment)
    shown.append(sections.configuration(to_yaml(run.config), str(trained_on)))

    files.write_json(run.folder / "metrics.json", task_report.metrics)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in task_report.predictions)
    with files.atomic_file(run.folder / "predictions.jsonl") as path, open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    for name, rows in task_report.tables.items():
        _write_table(run.folder / name, rows)
    measured = f"{task_report.measured}, evaluated on {datetime.now():%d %B %Y at %H:%M}"
    report.write(report.Report(f"{run.name}: {task_report.question}", measured, headline, shown), run.folder)
    _print_summary(task_report, headline, run.folder)


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


def _print_summary(task_report: TaskReport, headline: report.Headline, folder: Path) -> None:
    for warning in headline.warnings:
        console.note(f"note: {warning}")
    console.note(f"report: {folder / 'report.html'}")
    if task_report.console_table is not None:
        console.table(*task_report.console_table)
    console.note(task_report.summary)
