"""What pre-training is worth: `python -m benchmarks.starts PIPELINE:METRIC ... --export FOLDER [--seeds 3]`.

Each pipeline is trained from the weights of an export and from nothing: the same network, vocabulary, rows, seeds and
recipe, of which nothing is chosen on the rows that measure. The interval is that of the mean of the differences, each
of two runs of the same seed.

    python -m benchmarks.starts pipelines/cola.yaml:matthews_correlation --export saved_models/bert_pretrain_modern
"""

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks import results, runs
from benchmarks.paired import ahead
from benchmarks.results import Table
from tfattn import pretrained

NOTHING, EXPORT = "from nothing", "from the export"


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
    model = {"name": source.model, **source.sizes()}
    del model["vocabulary_size"]
    vocabulary = Path(source.tokenization()["vocabulary"]).absolute()
    settings = [f"model={json.dumps(model)}", f"data.preprocessing.vocabulary={vocabulary}"]
    return {NOTHING: settings, EXPORT: [*settings, f"model.pretrained={export.absolute()}"]}


def measured(pipeline: str, overrides: list[str]) -> dict[str, int | float]:
    """Return the metrics of a run."""
    with runs.evaluated(pipeline, overrides) as run:
        return runs.metrics_of(run)


if __name__ == "__main__":
    reader = runs.parser("benchmarks.starts", __doc__)
    reader.add_argument("--export", type=Path, required=True, help="where one of the two starts")
    options = reader.parse_args()
    results.publish([main(options)], command=results.own_command(), record=options.record)
