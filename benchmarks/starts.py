"""The benefit of pre-training: `python -m benchmarks.starts PIPELINE:METRIC ... --export FOLDER [--seeds 3]`.

Each pipeline is trained from the weights of an export and from scratch: with the same network, vocabulary, rows, seeds
and recipe; the evaluated rows are not used for selection. The interval is that of the mean of the differences, which
are paired by seed.

    python -m benchmarks.starts pipelines/cola.yaml:matthews_correlation --export saved_models/bert_pretrain_modern
"""

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks import results, runs
from benchmarks.paired import paired_difference
from benchmarks.results import Table
from tfattn import pretrained

SCRATCH, EXPORT = "from nothing", "from the export"


def main(arguments: argparse.Namespace) -> Table:
    """Run all pipelines from both initializations, each run in a separate process."""
    starts = initializations(arguments.export)
    rows = []
    for named in arguments.pipelines:
        pipeline, _, metric = named.partition(":")
        found: dict[str, list[float]] = {start: [] for start in starts}
        for seed in range(1, arguments.seeds + 1):
            for start, overrides in starts.items():
                found[start].append(measure(pipeline, [*arguments.set, *overrides, f"seed={seed}"])[metric])
            line = ", ".join(f"{start} {values[-1]:.4f}" for start, values in found.items())
            print(f"{Path(pipeline).stem}, seed {seed}: {line}", flush=True)
        means = [f"{np.mean(values):.4f}" for values in found.values()]
        rows.append([f"{Path(pipeline).stem}, {metric}", *means, paired_difference(found[EXPORT], found[SCRATCH])])
    title = f"{arguments.export.name} fine-tuned, {arguments.seeds} seeds"
    return Table(title=title, columns=["", *starts, "difference (95 % interval)"], rows=rows)


def initializations(export: Path) -> dict[str, list[str]]:
    """Return the overrides of each initialization, which differ only in the weights."""
    source = pretrained.open(str(export))
    model = {"name": source.model, **source.sizes()}
    del model["vocabulary_size"]
    vocabulary = Path(source.tokenization()["vocabulary"]).absolute()
    settings = [f"model={json.dumps(model)}", f"data.preprocessing.vocabulary={vocabulary}"]
    return {SCRATCH: settings, EXPORT: [*settings, f"model.pretrained={export.absolute()}"]}


def measure(pipeline: str, overrides: list[str]) -> dict[str, int | float]:
    """Return the metrics of a run."""
    with runs.evaluated_run(pipeline, overrides) as run:
        return runs.read_metrics(run)


if __name__ == "__main__":
    reader = runs.parser("benchmarks.starts", __doc__)
    reader.add_argument("--export", type=Path, required=True, help="the export with the pre-trained weights")
    options = reader.parse_args()
    results.publish([main(options)], command=results.own_command(), record=options.record)
