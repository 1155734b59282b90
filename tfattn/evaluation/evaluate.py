"""From what a task's report found to the files of a run: metrics, predictions, plots and the report."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tfattn import console, files
from tfattn.config.show import to_yaml
from tfattn.data.split import VALIDATION
from tfattn.data.summary import SUMMARY, read_summary
from tfattn.evaluation import doubts, report, sections
from tfattn.runs.run import Run
from tfattn.training.environment import ENVIRONMENT, Environment

# What `write` leaves in the folder of a run, as patterns.
LEFT = ("metrics.json", "predictions.jsonl", "*.tsv", "report.html", "plots/*")


@dataclass(frozen=True)
class Findings:
    """What the report of one task has to say: what it makes of a trained ensemble and its predictions for a split.

    Args:
        question: what is asked of every row, the title of the page.
        measured: what was measured, such as "96 validation texts, 4 labels".
        metrics: by flat names.
        predictions: one JSON-like dictionary per row, in the order of the rows.
        headline: the metric that matters, in plain words.
        sections: the pictures and tables of this task.
        thing: what a row of its data is called: "text", "row" ...
        in_short: a line for the console.
        summary: a table for the console, its title, columns and rows; None for none.
        tables: rows of cells by the name of a file with tabs between them, the names of the columns first.
        baselines: what can be had without a model, by the names of validation metrics, for the curves of training.
    """

    question: str
    measured: str
    metrics: dict[str, float]
    predictions: Iterable[dict[str, Any]]
    headline: report.Headline
    sections: Sequence[report.Section]
    thing: str
    in_short: str
    summary: tuple[str, Sequence[str], Sequence[Sequence[Any]]] | None = None
    tables: Mapping[str, Iterable[Sequence[str]]] = field(default_factory=dict)
    baselines: Mapping[str, float] = field(default_factory=dict)


def write(findings: Findings, run: Run, *, split: str, chosen: Sequence[str] = ()) -> None:
    """Write `metrics.json`, `predictions.jsonl`, `plots/*.svg`, `report.html` and tables into the folder of a run.

    The report ends with how training went (from `history.jsonl` of the run, where there is one), what the data were
    (from `summary.json` of the prepared data) and the configuration.

    Args:
        findings: what the task's report found.
        run: what was evaluated.
        split: the rows that measured.
        chosen: what the validation rows chose, in words.
    """
    history, prepared = run.folder / "history.jsonl", run.members[0].prepared
    headline, shown = findings.headline, list(findings.sections)
    headline = replace(headline, remarks=[*headline.remarks, unseen(findings.thing, split=split, chosen=chosen)])
    if history.is_file() and (lines := files.read_json_lines(history, dict[str, int | float])):
        selection = run.config.at("training", "selection")
        shown.append(sections.training(lines, selection=selection, baselines=findings.baselines))
    if (prepared / SUMMARY).is_file():
        found = read_summary(prepared)
        headline = replace(headline, doubts=[*headline.doubts, *doubts.of_data(found, thing=findings.thing)])
        shown.append(sections.data(found))
    trained_on = files.read_json(run.members[0].folder / ENVIRONMENT, Environment)
    shown.append(sections.configuration(to_yaml(run.config), str(trained_on)))

    files.write_json(run.folder / "metrics.json", findings.metrics)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in findings.predictions)
    with files.atomic_file(run.folder / "predictions.jsonl") as path, open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    for name, rows in findings.tables.items():
        _write_table(run.folder / name, rows)
    measured = f"{findings.measured}, evaluated on {datetime.now():%d %B %Y at %H:%M}"
    report.write(report.Report(f"{run.name}: {findings.question}", measured, headline, shown), run.folder)
    _say(findings, headline, run.folder)


def unseen(thing: str, *, split: str, chosen: Sequence[str]) -> str:
    """Says what the rows that measured had a part in.

    Args:
        thing: what a row is called.
        split: the rows that measured.
        chosen: what the validation rows chose, in words.
    """
    said = f"No weight was trained on these {thing}s"
    if split != VALIDATION or not chosen:
        return f"{said}, and nothing was chosen by them."
    return f"{said}, but they chose {' and '.join(chosen)}: new ones may fare slightly worse."


def _write_table(path: Path, rows: Iterable[Sequence[str]]) -> None:
    with files.atomic_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)


def _say(findings: Findings, headline: report.Headline, folder: Path) -> None:
    for doubt in headline.doubts:
        console.note(f"note: {doubt}")
    console.note(f"report: {folder / 'report.html'}")
    if findings.summary is not None:
        console.table(*findings.summary)
    console.note(findings.in_short)
