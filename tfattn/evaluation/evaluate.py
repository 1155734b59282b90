"""From what a task's evaluation found to the files of a run: metrics, predictions, plots and the report."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.console import note
from tfattn.evaluation import report, sections


@dataclass(frozen=True)
class Findings:
    """What the evaluation of one task has to say.

    Args:
        metrics: figures by flat names.
        predictions: one JSON-like dictionary per row, in the order of the rows.
        headline: the figure that matters, in plain words.
        sections: the pictures and tables of this task.
    """

    metrics: dict[str, float]
    predictions: Iterable[dict[str, Any]]
    headline: report.Headline
    sections: Sequence[report.Section]


def write(
    findings: Findings, folder: str | Path, *, title: str, subtitle: str, prepared: str | Path, configuration: str
) -> dict[str, float]:
    """Writes `metrics.json`, `predictions.jsonl`, `plots/*.png` and `report.html` into the folder of a run.

    The report ends with how training went (from `history.jsonl` of the run, where there is one), what the data were
    (from `summary.json` of the prepared data) and the configuration.

    Args:
        findings: what the task's evaluation found.
        folder: the run's.
        title: stands above the report.
        subtitle: one line below the title.
        prepared: the folder of the prepared data.
        configuration: the resolved pipeline file.

    Returns:
        the metrics.
    """
    folder, prepared = Path(folder), Path(prepared)
    history, summary = folder / "history.jsonl", prepared / "summary.json"
    shown = list(findings.sections)
    if history.is_file() and (lines := _read_lines(history)):
        shown.append(sections.training(lines))
    if summary.is_file():
        shown.append(sections.data(files.read_json(summary)))
    shown.append(sections.configuration(configuration))

    files.write_json(folder / "metrics.json", findings.metrics)
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in findings.predictions)
    with files.atomic_file(folder / "predictions.jsonl") as path, open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    report.write(report.Report(title, subtitle, findings.headline, shown), folder)
    note(f"report: {folder / 'report.html'}")
    return findings.metrics


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
