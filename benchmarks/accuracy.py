"""The accuracy of a text classifier over many splits, beside that of others that are given the same rows.

    python -m benchmarks.accuracy pipelines/factory_reports.yaml --set data.source.path=factoryReports.csv --peers

Nothing is chosen on the rows that measure: every run has a fixed number of epochs, and the last one counts. The peers
are TF-IDF with logistic regression and, where transformers is installed (see benchmarks/peers.py), logistic
regression on MiniLM's vectors and plain fine-tuning of MiniLM in PyTorch. Each difference is of the same splits, with
the 95 % interval of its mean.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import peers, results, runs
from benchmarks.paired import ahead
from benchmarks.results import Table
from benchmarks.text_classifiers import PEERS
from tfattn import pretrained
from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.data.section import Data
from tfattn.data.split_assignment import SPLITS, assign_splits
from tfattn.data.split_config import TRAIN, VALIDATION
from tfattn.data.survey import Survey, complete_rows, survey
from tfattn.data.units import Work, numbered_parts
from tfattn.formats.source import Row

OURS = "tfattn"


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("--set", action="append", default=[], help="an override, as of tfattn")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=100, help="of the splits, which are numbered from here")
    parser.add_argument("--peers", action="store_true", help="give others the same rows")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[Table]:
    """Run everybody on one split after the other, each in a process of its own."""
    accuracies: dict[str, list[float]] = {}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.splits):
        started = time.perf_counter()
        measured = {OURS: ours(arguments.pipeline, arguments.set, seed)}
        seconds = time.perf_counter() - started
        if arguments.peers:
            measured |= of_peers(arguments.pipeline, arguments.set, seed)
        for name, accuracy in measured.items():
            accuracies.setdefault(name, []).append(accuracy)
        line = ", ".join(f"{name} {accuracy:.4f}" for name, accuracy in measured.items())
        print(f"split {seed}: {line} ({seconds:.0f} s)", flush=True)
    rows = [
        [
            name,
            f"{np.mean(values):.4f}",
            f"{min(values):.4f} to {max(values):.4f}",
            ahead(accuracies[OURS], values) if name != OURS and len(values) > 1 else "",
        ]
        for name, values in accuracies.items()
    ]
    title = f"{Path(arguments.pipeline).stem}, accuracy of the last epoch on {arguments.splits} stratified splits"
    columns = ["", "mean", "least and most", f"{OURS} is ahead by (95 % interval)"]
    return [Table(title=title, columns=columns, rows=rows)]


def ours(pipeline: str, overrides: list[str], seed: int) -> float:
    """What `tfattn evaluate` says of the last epoch."""
    with runs.evaluated(pipeline, [*overrides, f"seed={seed}", "training.selection=last_epoch"]) as run:
        return runs.metrics_of(run)["accuracy"]


def of_peers(pipeline: str, overrides: list[str], seed: int) -> dict[str, float]:
    """The accuracy of each peer on the rows that our split of this seed gives."""
    data = build(resolve(pipeline, [*overrides, "data.preprocessing.vocabulary=train"]), "data")
    rows = {
        split: [(row.fields["text"], " ".join(row.fields["label"].split())) for row in of_split]
        for split, of_split in divided(data, seed).items()
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


def divided(data: Data, seed: int) -> dict[str, list[Row]]:
    """The training and the validation rows that preparation gives."""
    units = list(numbered_parts(data))
    with tempfile.TemporaryDirectory() as folder:
        for unit in units:
            survey(Work(data, Path(folder), seed), unit)
        surveyed = Survey(data, Path(folder), units)
        split_of_row = assign_splits(data, surveyed, seed)
        rows = [row for unit in units for row in complete_rows(data, unit)]
    return {
        split: [row for row, place in zip(rows, split_of_row, strict=True) if SPLITS[place] == split]
        for split in (TRAIN, VALIDATION)
    }


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
