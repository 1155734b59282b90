"""Comparisons: run all variants, then write a page with a table and curves."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfattn import console, files, registry
from tfattn.checks import check
from tfattn.config.build import build
from tfattn.config.resolve import resolve, resolve_section
from tfattn.errors import ConfigError, TrainingError
from tfattn.evaluation.comparison import Outcome, write
from tfattn.runs.comparison import Comparison, PlannedRun
from tfattn.runs.identity import compute_fingerprints
from tfattn.runs.run import Run
from tfattn.training.runtime import Runtime

NOT_FINITE = "not finite"  # in the message of a TrainingError about a diverged loss


def compare(path: str | Path, overrides: Sequence[str] | None = None) -> Path:
    """Run a comparison and write its page; finished runs are not repeated.

    A run whose loss diverges is a result. Any other error ends the comparison; the same command resumes it.

    Args:
        path: the comparison file.
        overrides: `key=value` for each changed key of the comparison.

    Returns:
        the folder of the page: `report.html`, `comparison.json` with all numbers, `plots/` and a log of each run.

    Raises:
        ConfigError: the comparison, or the pipeline of a variant, has errors; or the metric does not exist.
        TrainingError: a run has failed; the reason is in its log.
    """
    comparison: Comparison = build(resolve_section("comparison", path, list(overrides or ())))
    # All runs are checked before the first run, which may take an hour.
    runs = [(planned, run_folder(comparison.pipeline, planned.overrides)) for planned in comparison]
    folder = Path(comparison.runs_folder) / comparison.name / "comparison"
    outcomes = []
    for number, (planned, run) in enumerate(runs, start=1):
        console.note(f"run {number} of {len(runs)}: {planned.variant}, seed {planned.seed}")
        outcomes.append(_outcome(planned, comparison, run, log=folder / "logs" / f"{planned.file}.log"))
        console.note(f"  {outcomes[-1].summary}")
    write(comparison, outcomes, folder)
    console.note(f"report: {folder / 'report.html'}")
    return folder


def run_folder(pipeline: str | Path, overrides: Sequence[str]) -> Path:
    """Check a variant of a pipeline, and return the folder of its run."""
    config = resolve(pipeline, overrides)
    return Run(config, fingerprints=compute_fingerprints(config, check(config)), runtime=Runtime()).folder


def start_stage(stage: str, pipeline: str | Path, overrides: Sequence[str], *, log: Path) -> subprocess.Popen[bytes]:
    """Start a stage of a variant of a pipeline in a separate process, with its own devices and memory.

    Args:
        stage: the command, such as "evaluate".
        pipeline: the pipeline file.
        overrides: `key=value` for each changed key.
        log: the file for the output of the process.
    """
    plugins = [word for plugin in registry.PLUGINS for word in ("--plugin", plugin)]
    options = [word for override in overrides for word in ("--set", override)]
    command = [sys.executable, "-m", "tfattn", stage, str(pipeline), *options, *plugins]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


def failure(log: Path, status: int) -> str:
    """Return the error message in the log of a process that has failed."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    error = next((line for line in reversed(lines) if "error: " in line), "")
    return error.partition("error: ")[2] or f"exit status {status}"


def _outcome(planned: PlannedRun, comparison: Comparison, run: Path, *, log: Path) -> Outcome:
    """Train and evaluate in a separate process."""
    status = start_stage("evaluate", comparison.pipeline, planned.overrides, log=log).wait()
    outcome = {"variant": planned.variant, "seed": planned.seed, "metric": comparison.metric}
    if status == 0:
        metrics = files.read_json(run / "metrics.json", dict[str, int | float])
        if comparison.metric not in metrics:
            raise ConfigError(
                "the evaluation has no such metric",
                key="metric",
                expected=f"one of {', '.join(sorted(metrics))}",
                received=comparison.metric,
            )
        return Outcome(**outcome, value=metrics[comparison.metric], history=read_history(run))
    error = failure(log, status)
    if NOT_FINITE in error:
        return Outcome(**outcome, value=None, history=read_history(run))
    raise TrainingError(
        "a run of the comparison has failed",
        where=f"{planned.variant}, seed {planned.seed}",
        received=error,
        remedy=f"See {log} for its output.",
    )


def read_history(run: Path) -> list[dict[str, Any]]:
    """Read the lines of the history of a run; none before the first validation."""
    path = run / "history.jsonl"
    return files.read_json_lines(path, dict[str, int | float]) if path.exists() else []
