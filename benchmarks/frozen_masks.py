"""Pre-training runs on the same masked tokens: `python -m benchmarks.frozen_masks FIRST.yaml OTHER.yaml [--record]`.

Each run is evaluated on the validation records of the first run, which were masked in preparation. This allows a
comparison of runs with other records, such as packed texts, which have a single segment; such models get all tokens in
this segment. All runs must be trained and have the same vocabulary.
"""

import argparse
import sys
from pathlib import Path

import tensorflow as tf

from benchmarks import results
from benchmarks.results import Table
from tfattn import files, stages
from tfattn.config.build import build
from tfattn.data.examples.transforms import Transform
from tfattn.data.reader import Reader
from tfattn.data.split_config import VALIDATION
from tfattn.features import SEGMENT_IDS, SEQUENCE_IDS
from tfattn.runs.member import Member
from tfattn.trained.ensemble import load
from tfattn.training.losses import LOSS
from tfattn.training.prediction import Evaluator
from tfattn.training.runtime import Runtime


def main(pipelines: list[Path]) -> Table:
    """Evaluate the best weights of each run."""
    runs = [stages.open_run(pipeline, None) for pipeline in pipelines]
    first = runs[0].members[0]
    runtime = Runtime(precision="float32", strategy="one_device").start()
    vocabulary, rows = None, []
    for run in runs:
        ensemble = load(run)
        tokens = ensemble.preprocessor.tokens
        vocabulary = vocabulary or tokens
        if tokens != vocabulary:
            sys.exit(f"{run.name} has another vocabulary than {runs[0].name}: their losses cannot be compared")
        metrics = Evaluator(ensemble.task, runtime)(make_reader(first, run.members[0]))
        history = files.read_json_lines(run.folder / "history.jsonl", dict[str, int | float])
        minutes = sum(line["seconds"] for line in history) / 60
        loss = metrics.get(f"{LOSS}/masked_lm", metrics[LOSS])
        accuracy = metrics["masked_lm_accuracy"]
        rows.append([run.name, f"{history[-1]['step']:,}", f"{minutes:.1f}", f"{loss:.4f}", f"{accuracy:.4f}"])
    columns = ["run", "steps", "minutes", "masked LM loss", "masked LM accuracy"]
    return Table(title=f"the hidden tokens of {runs[0].name}'s validation records", columns=columns, rows=rows)


class OneSegment(Transform):
    """A preprocessor wrapper that assigns all tokens to the first segment."""

    def __call__(self, batch: dict[str, tf.Tensor], seeds: tf.Tensor) -> dict[str, tf.Tensor]:
        return {**batch, SEGMENT_IDS: tf.zeros_like(batch[SEGMENT_IDS])}


def make_reader(first: Member, other: Member) -> Reader:
    """Return the reader of the first run's records, with the segments that the other run was trained on."""
    is_packed = SEQUENCE_IDS in other.reader(VALIDATION).inputs
    batching = build(first.config, "data", "batching")
    transforms = [OneSegment()] if is_packed else []
    return Reader(first.prepared, VALIDATION, batching=batching, seed=0, shuffle=False, transforms=transforms)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen_masks", description=__doc__)
    parser.add_argument("pipelines", nargs="+", type=Path, metavar="PIPELINE")
    results.add_option(parser)
    arguments = parser.parse_args()
    results.publish([main(arguments.pipelines)], command=results.own_command(), record=arguments.record)
