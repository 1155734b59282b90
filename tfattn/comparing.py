"""A comparison: one run after the other, then a page with a table and curves."""

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

NOT_FINITE = "not finite"  # what training says of a loss that is no number


def compare(path: Path, overrides: Sequence[str] | None = None) -> Path:
    """Run a comparison and write its page; what is done already is not run again.

    A run whose loss is no number any more is a result, too. Another error ends the comparison; the same command goes on
    from there.

    Args:
        path: its file.
        overrides: `key=value` for each key of it to change.

    Returns:
        the folder of the page: `report.html`, `comparison.json` with all numbers, `plots/` and a log of each run.

    Raises:
        ConfigError: the file, or what a variant makes of its pipeline, is wrong; or there is no such metric.
        TrainingError: a run has failed; its log says why.
    """
    comparison: Comparison = build(resolve_section("comparison", path, list(overrides or ())))
    # All are checked before the first of them takes an hour.
    planned = [(one, _run_of(comparison, one)) for one in comparison]
    folder = Path(comparison.runs_folder) / comparison.name / "comparison"
    outcomes = []
    for number, (one, run) in enumerate(planned, start=1):
        console.note(f"run {number} of {len(planned)}: {one.variant}, seed {one.seed}")
        outcomes.append(_outcome(one, comparison, run, log=folder / "logs" / f"{one.file}.log"))
        console.note(f"  {outcomes[-1].said}")
    write(comparison, outcomes, folder)
    console.note(f"report: {folder / 'report.html'}")
    return folder


def _run_of(comparison: Comparison, planned: PlannedRun) -> Path:
    """Return the folder of a run."""
    config = resolve(comparison.pipeline, planned.overrides)
    return Run(config, fingerprints=compute_fingerprints(config, check(config)), runtime=Runtime()).folder


def _outcome(planned: PlannedRun, comparison: Comparison, run: Path, *, log: Path) -> Outcome:
    """Train and evaluate in a process of its own: devices and memory are new in each."""
    plugins = [word for plugin in registry.PLUGINS for word in ("--plugin", plugin)]
    options = [word for override in planned.overrides for word in ("--set", override)]
    command = [sys.executable, "-m", "tfattn", "evaluate", comparison.pipeline, *options, *plugins]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as said:
        status = subprocess.run(command, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode
    outcome = {"variant": planned.variant, "seed": planned.seed, "metric": comparison.metric}
    if status == 0:
        metrics = files.read_json(run / "metrics.json", dict[str, int | float])
        if comparison.metric not in metrics:
            raise ConfigError(
                "the evaluation tells no such metric",
                key="metric",
                expected=f"one of {', '.join(sorted(metrics))}",
                received=comparison.metric,
            )
        return Outcome(**outcome, value=metrics[comparison.metric], history=_history(run))
    error = next((line for line in reversed(log.read_text(encoding="utf-8").splitlines()) if "error: " in line), "")
    if NOT_FINITE in error:
        return Outcome(**outcome, value=None, history=_history(run))
    raise TrainingError(
        "a run of the comparison has failed",
        where=f"{planned.variant}, seed {planned.seed}",
        received=error.partition("error: ")[2] or f"exit status {status}",
        remedy=f"{log} has all that it said.",
    )


def _history(run: Path) -> list[dict[str, Any]]:
    path = run / "history.jsonl"
    return files.read_json_lines(path, dict[str, int | float]) if path.exists() else []
