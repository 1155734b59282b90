"""Compares settings of training on an inner split: the measurements behind tfattn/config/recommended.py.

    python -m benchmarks.recommended_training PIPELINE VARIANTS [--seeds 3] [--set KEY=VALUE ...]

VARIANTS is a YAML file, such as `slow: {epochs: 3, optimizer: {name: adamw, learning_rate: 1e-4}}`: the `training:`
section of each variant. The pipeline's source must have no rows that are used for a final comparison. Each seed has
its own split; all variants of a seed have the same. The figure is the monitored metric of the validation rows after
the best epoch, or after the last if the variant says so.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import yaml

from benchmarks import results
from benchmarks.paired import paired_difference
from tfattn import files, stages
from tfattn.training.callbacks import best_of


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("variants", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[results.Table]:
    """Return the metric of each variant, and its difference to the first."""
    variants = yaml.safe_load(arguments.variants.read_text())
    found = {name: [] for name in variants}
    seconds = {name: [] for name in variants}
    metric = ""
    for seed in range(1, arguments.seeds + 1):
        for name, training in variants.items():
            start = time.perf_counter()
            options = [f"seed={seed}", "training=" + json.dumps(training), *arguments.overrides]
            metric, value = _train(arguments.pipeline, options)
            found[name].append(value)
            seconds[name].append(time.perf_counter() - start)
            print(json.dumps({"variant": name, "seed": seed, metric: value, "seconds": seconds[name][-1]}), flush=True)
    first = next(iter(found.values()))
    rows = [
        [
            name,
            f"{np.mean(values):.4f}",
            "" if values is first else paired_difference(values, first),
            f"{np.mean(seconds[name]):.0f}",
        ]
        for name, values in found.items()
    ]
    columns = ["variant", metric, "difference to the first", "seconds"]
    return [results.Table(title=f"{arguments.pipeline.stem}, {arguments.seeds} seeds", columns=columns, rows=rows)]


def _train(pipeline: Path, options: list[str]) -> tuple[str, float]:
    """Train, and return the monitored metric and its value for the validation rows."""
    run = stages.open_run(pipeline, options)
    stages.run(run, "train")
    (member,) = run.members
    name, mode = member.trainer.monitored(member.task(member.preprocessor()))
    lines = files.read_json_lines(member.folder / "history.jsonl", dict[str, int | float])
    values = [line[f"validation_{name}"] for line in lines]
    losses = [line["validation_loss"] for line in lines]
    is_last = run.config.at("training", "selection") == "last_epoch"
    return name, values[-1 if is_last else best_of(values, losses, mode)]


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
