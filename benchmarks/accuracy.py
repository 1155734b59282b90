"""The accuracy of a text classifier over many splits, compared with peers on the same rows.

    python -m benchmarks.accuracy pipelines/factory_reports.yaml --set data.source.path=factoryReports.csv --peers

The evaluated rows are not used for selection: each run has a fixed number of epochs, and its last epoch is evaluated.
The peers are TF-IDF with logistic regression and, if transformers is installed (see benchmarks/peers.py), logistic
regression on MiniLM's vectors and fine-tuning of MiniLM in PyTorch. Differences are paired by split, with the 95 %
interval of their mean.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import peers, results, runs
from benchmarks.paired import paired_difference
from benchmarks.results import Table
from benchmarks.text_classifiers import PEERS
from tfattn import pretrained
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.data.preparation.split_assignment import SPLITS, assign_splits
from tfattn.data.preparation.survey import Survey, complete_rows, survey
from tfattn.data.preparation.units import Work, numbered_parts
from tfattn.data.section import Data
from tfattn.data.split_config import TRAIN, VALIDATION
from tfattn.formats.source import Row

OURS = "tfattn"


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("--set", action="append", default=[], help="an override, as of tfattn")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=100, help="of the splits, which are numbered from here")
    parser.add_argument("--peers", action="store_true", help="evaluate the peers on the same rows")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[Table]:
    """Run all candidates on each split, each in a separate process."""
    accuracies: dict[str, list[float]] = {}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.splits):
        started = time.perf_counter()
        measured = {OURS: run_tfattn(arguments.pipeline, arguments.set, seed)}
        seconds = time.perf_counter() - started
        if arguments.peers:
            measured |= run_peers(arguments.pipeline, arguments.set, seed)
        for name, accuracy in measured.items():
            accuracies.setdefault(name, []).append(accuracy)
        line = ", ".join(f"{name} {accuracy:.4f}" for name, accuracy in measured.items())
        print(f"split {seed}: {line} ({seconds:.0f} s)", flush=True)
    rows = [
        [
            name,
            f"{np.mean(values):.4f}",
            f"{min(values):.4f} to {max(values):.4f}",
            paired_difference(accuracies[OURS], values) if name != OURS and len(values) > 1 else "",
        ]
        for name, values in accuracies.items()
    ]
    title = f"{Path(arguments.pipeline).stem}, accuracy of the last epoch on {arguments.splits} stratified splits"
    columns = ["", "mean", "minimum and maximum", f"difference of {OURS} (95 % interval)"]
    return [Table(title=title, columns=columns, rows=rows)]


def run_tfattn(pipeline: str, overrides: list[str], seed: int) -> float:
    """Return the accuracy of `tfattn evaluate` after the last epoch."""
    with runs.evaluated_run(pipeline, [*overrides, f"seed={seed}", "training.selection=last_epoch"]) as run:
        return runs.read_metrics(run)["accuracy"]


def run_peers(pipeline: str, overrides: list[str], seed: int) -> dict[str, float]:
    """Return the accuracy of each peer on the rows of our split with this seed."""
    data = build(resolve(pipeline, [*overrides, "data.preprocessing.vocabulary=train"]), "data")
    rows = {
        split: [(row.fields["text"], " ".join(row.fields["label"].split())) for row in of_split]
        for split, of_split in divide_rows(data, seed).items()
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps(rows))
        weights = pretrained.open("minilm").folder
        return {
            name: float(peers.last_line(script, path, weights))
            for name, script in PEERS.items()
            if "torch" not in script or peers.has_transformers()
        }


def divide_rows(data: Data, seed: int) -> dict[str, list[Row]]:
    """Return the training and validation rows of the prepared data."""
    units = list(numbered_parts(data))
    with tempfile.TemporaryDirectory() as folder:
        for unit in units:
            survey(Work(data, Path(folder), seed), unit)
        surveyed = Survey(data, Path(folder), units)
        split_of_row = assign_splits(data, surveyed, seed)
        rows = [row for unit in units for row in complete_rows(data, unit)]
    return {
        split: [row for row, index in zip(rows, split_of_row, strict=True) if SPLITS[index] == split]
        for split in (TRAIN, VALIDATION)
    }


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
