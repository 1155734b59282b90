"""Calibration on held-out rows: scores before and after temperature scaling, and the coverage of sets or intervals.

    python -m benchmarks.calibration PIPELINE [--seeds 3] [--coverage 0.9] [--set KEY=VALUE ...]

Each seed is a run with its own split: a fifth of the rows calibrates, the test rows of the pipeline measure, and the
others train. The last epoch counts. Nothing is chosen on the test rows.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks import results
from benchmarks.runs import evaluated_run, read_metrics
from tfattn.config.resolve import resolve

CALIBRATED = {
    "accuracy": "accuracy",
    "temperature": "temperature",
    "calibration_error_uncalibrated": "ECE before",
    "calibration_error": "after",
    "log_loss_uncalibrated": "log loss before",
    "log_loss": "after",
    "brier_score_uncalibrated": "Brier before",
    "brier_score": "after",
}
SETS = {
    "lowest_coverage": "lowest of a label",
    "set_size": "mean set size",
    "singletons": "singletons",
    "empty_sets": "empty",
}
INTERVALS = {"mean_absolute_error": "mean error", "interval_width": "interval width"}
COVERAGE = {"coverage": "coverage", "coverage_low": "95 % from", "coverage_high": "to"}


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[results.Table]:
    """Return the metrics of each seed and their means."""
    config = resolve(arguments.pipeline)
    is_regression = config.values["task"]["name"] == "regression"
    temperature = "" if is_regression else "temperature: true, "
    settings = [
        "data.split.calibration=0.2",
        "training.selection=last_epoch",
        f"calibration={{{temperature}coverage: {arguments.coverage}}}",
        *arguments.overrides,
    ]
    first, seeds = config.values["seed"], {}
    for seed in range(first, first + arguments.seeds):
        with evaluated_run(str(arguments.pipeline), [*settings, f"seed={seed}"]) as run:
            metrics = read_metrics(run)
        of_labels = [value for name, value in metrics.items() if name.startswith("coverage/")]
        seeds[f"seed {seed}"] = metrics | ({"lowest_coverage": min(of_labels)} if of_labels else {})
    tables = [{**INTERVALS, **COVERAGE}] if is_regression else [CALIBRATED, {**COVERAGE, **SETS}]
    name = config.values["name"]
    titles = [f"{name}, calibrated scores", f"{name}, requested coverage {arguments.coverage:g}"][-len(tables) :]
    return [_table(title, seeds, columns) for title, columns in zip(titles, tables, strict=True)]


def _table(title: str, seeds: Mapping[str, Mapping[str, float]], columns: Mapping[str, str]) -> results.Table:
    rows = [[seed, *(f"{metrics[name]:.3f}" for name in columns)] for seed, metrics in seeds.items()]
    means = [
        "" if name in ("coverage_low", "coverage_high") else f"{np.mean([found[name] for found in seeds.values()]):.3f}"
        for name in columns
    ]
    return results.Table(title=title, columns=["", *columns.values()], rows=[*rows, ["mean", *means]])


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
