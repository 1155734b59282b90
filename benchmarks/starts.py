"""What pre-training is worth: `python -m benchmarks.starts EXPORT PIPELINE:METRIC ... [--seeds 3] [--set KEY=VALUE]`.

Each pipeline is trained from the weights of an export and from nothing: the same network, vocabulary, rows, seeds and
recipe, of which nothing is chosen on the rows that measure. The interval is that of the mean of the differences, each
of two runs of the same seed.

    python -m benchmarks.starts saved_models/bert_pretrain_modern pipelines/cola.yaml:matthews_correlation
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks import results
from benchmarks.paired import ahead
from benchmarks.results import Table
from tfattn import files, pretrained

NOTHING, EXPORT = "from nothing", "from the export"


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starts", description=__doc__.splitlines()[0])
    parser.add_argument("export", type=Path)
    parser.add_argument("pipelines", nargs="+", metavar="PIPELINE:METRIC")
    parser.add_argument("--seeds", type=int, default=3, help="how many runs of each")
    parser.add_argument("--set", action="append", default=[], help="an override of all runs, as of tfattn")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> Table:
    """Run all pipelines from both starts, each run in a process of its own."""
    starts = starts_of(arguments.export)
    rows = []
    for named in arguments.pipelines:
        pipeline, _, metric = named.partition(":")
        found: dict[str, list[float]] = {start: [] for start in starts}
        for seed in range(1, arguments.seeds + 1):
            for start, overrides in starts.items():
                found[start].append(measured(pipeline, [*arguments.set, *overrides, f"seed={seed}"])[metric])
            line = ", ".join(f"{start} {values[-1]:.4f}" for start, values in found.items())
            print(f"{Path(pipeline).stem}, seed {seed}: {line}", flush=True)
        means = [f"{np.mean(values):.4f}" for values in found.values()]
        rows.append([f"{Path(pipeline).stem}, {metric}", *means, ahead(found[EXPORT], found[NOTHING])])
    title = f"{arguments.export.name} fine-tuned, {arguments.seeds} seeds"
    return Table(title=title, columns=["", *starts, "ahead by (95 % interval)"], rows=rows)


def starts_of(export: Path) -> dict[str, list[str]]:
    """Return the overrides of each start, which differ in the weights alone."""
    source = pretrained.open(str(export))
    sizes = {name: value for name, value in source.sizes().items() if name != "vocabulary_size"}
    settings = [f"model={json.dumps(sizes)}", f"data.preprocessing.vocabulary={source.vocabulary.absolute()}"]
    return {NOTHING: settings, EXPORT: [*settings, f"model.pretrained={export.absolute()}"]}


def measured(pipeline: str, overrides: list[str]) -> Mapping[str, float]:
    """Return the metrics of a run."""
    with tempfile.TemporaryDirectory() as folder:
        options = [word for override in [*overrides, f"runs_folder={folder}"] for word in ("--set", override)]
        command = [sys.executable, "-m", "tfattn", "evaluate", pipeline, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        (metrics,) = Path(folder).glob("*/latest/metrics.json")
        return files.read_json(metrics, dict[str, int | float])


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish([main(options)], command=results.own_command(), record=options.record)
