"""From what a task's evaluation found to the files of a run: metrics, predictions, plots and the report."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.console import note
from tfattn.data.split import VALIDATION
from tfattn.data.summary import SUMMARY, read_summary
from tfattn.evaluation import doubts, report, sections


@dataclass(frozen=True)
class Member:
    """What one of several models answered alone.

    Args:
        name: by what it differs from the others, such as "seed 8" or "fold 2".
        answers: each (M, ...), to all rows or to those of its fold.
        targets: what would be right, each (M, ...).
    """

    name: str
    answers: dict[str, np.ndarray]
    targets: dict[str, np.ndarray]


@dataclass(frozen=True)
class Evaluated:
    """What was answered to the rows of a split, for the report of any task.

    Args:
        name: the pipeline's name.
        split: which rows were answered.
        prepared: the folder of the prepared data, for its labels and summary.
        configuration: the resolved pipeline file.
        rows: the N raw rows: `row` (file:line), `label`, and whatever else the source gives.
        answers: what the task answers, each (N, ...).
        targets: what would be right, each (N, ...).
        loss: the mean loss over the rows.
        members: what each of several models answered alone; none of a single one.
        leaked: the places (file:line) of rows that training rows repeat.
        task: what answered; of several models, the first.
        decisions: what the task has decided by validation rows.
        columns: the raw fields that the models read.
        preprocessor: what reads them; of several models, the first's.
        asks: for each model, a function from raw rows to scores (N, C).
        selection: which epoch's weights answer, as `training.selection` says.
        environment: what the models were trained on, in which numbers and how large they are, in a line.
    """

    name: str
    split: str
    prepared: str | Path
    configuration: str
    rows: Sequence[dict[str, str]]
    answers: dict[str, np.ndarray]
    targets: dict[str, np.ndarray]
    loss: float
    members: Sequence[Member] = ()
    leaked: Collection[str] = ()
    task: Any = None
    decisions: dict[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ()
    preprocessor: Any = None
    asks: Sequence[Callable[[Sequence[dict[str, str]]], np.ndarray]] = ()
    selection: str = "best_epoch"
    environment: str = ""

    @property
    def is_leaked(self) -> np.ndarray:
        """(N,) whether a training row repeats the row."""
        return np.array([row["row"] in self.leaked for row in self.rows], bool)


@dataclass(frozen=True)
class Findings:
    """What the evaluation of one task has to say.

    Args:
        metrics: figures by flat names.
        predictions: one JSON-like dictionary per row, in the order of the rows.
        headline: the figure that matters, in plain words.
        sections: the pictures and tables of this task.
        thing: what a row of its data is called: "text", "row" ...
    """

    metrics: dict[str, float]
    predictions: Iterable[dict[str, Any]]
    headline: report.Headline
    sections: Sequence[report.Section]
    thing: str


def write(
    findings: Findings, folder: str | Path, evaluated: Evaluated, *, title: str, subtitle: str
) -> dict[str, float]:
    """Writes `metrics.json`, `predictions.jsonl`, `plots/*.svg` and `report.html` into the folder of a run.

    The report ends with how training went (from `history.jsonl` of the run, where there is one), what the data were
    (from `summary.json` of the prepared data) and the configuration.

    Args:
        findings: what the task's evaluation found.
        folder: the run's.
        evaluated: what was answered.
        title: stands above the report.
        subtitle: one line below the title.

    Returns:
        the metrics.
    """
    folder, prepared = Path(folder), Path(evaluated.prepared)
    history = folder / "history.jsonl"
    headline, shown = findings.headline, list(findings.sections)
    headline = replace(headline, remarks=[*headline.remarks, unseen(evaluated, findings.thing)])
    if history.is_file() and (lines := files.read_json_lines(history, dict[str, int | float])):
        shown.append(sections.training(lines, selection=evaluated.selection))
    if (prepared / SUMMARY).is_file():
        found = read_summary(prepared)
        headline = replace(headline, doubts=[*headline.doubts, *doubts.of_data(found, thing=findings.thing)])
        shown.append(sections.data(found))
    shown.append(sections.configuration(evaluated.configuration, evaluated.environment))

    files.write_json(folder / "metrics.json", findings.metrics)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in findings.predictions)
    with files.atomic_file(folder / "predictions.jsonl") as path, open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    report.write(report.Report(title, subtitle, headline, shown), folder)
    for doubt in headline.doubts:
        note(f"note: {doubt}")
    note(f"report: {folder / 'report.html'}")
    return findings.metrics


def unseen(evaluated: Evaluated, thing: str) -> str:
    """Says what the rows that measure had a part in; `thing` is what a row is called."""
    chosen = ["which epoch to keep"] if evaluated.selection == "best_epoch" else []
    chosen += ["the threshold"] if evaluated.decisions else []
    said = f"No weight was trained on these {thing}s"
    if evaluated.split != VALIDATION or not chosen:
        return f"{said}, and nothing was chosen by them."
    return f"{said}, but they chose {' and '.join(chosen)}: new ones may fare slightly worse."
