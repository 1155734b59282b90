"""Pre-training runs on the same hidden tokens: `python -m benchmarks.frozen_masks FIRST.yaml OTHER.yaml [--record]`.

Each run is measured on the validation records of the first, which were masked once as they were prepared. So runs can
be compared that learned from other records, such as packed texts. All have to be trained, with the same vocabulary.
"""

import argparse
import sys
from pathlib import Path

from benchmarks import results
from benchmarks.results import Table
from tfattn import files, stages
from tfattn.trained.ensemble import load
from tfattn.training.losses import LOSS
from tfattn.training.prediction import Evaluator
from tfattn.training.runtime import Runtime


def main(pipelines: list[Path]) -> Table:
    """Measure the best weights of each run."""
    runs = [stages.open_run(pipeline, None) for pipeline in pipelines]
    reader = runs[0].members[0].reader("validation")
    runtime = Runtime(precision="float32", strategy="one_device").start()
    vocabulary, rows = None, []
    for run in runs:
        ensemble = load(run)
        tokens = ensemble.preprocessor.tokens
        vocabulary = vocabulary or tokens
        if tokens != vocabulary:
            sys.exit(f"{run.name} has another vocabulary than {runs[0].name}: their losses cannot be compared")
        metrics = Evaluator(ensemble.task, runtime)(reader)
        history = files.read_json_lines(run.folder / "history.jsonl", dict[str, int | float])
        minutes = sum(line["seconds"] for line in history) / 60
        loss = metrics.get(f"{LOSS}/masked_lm", metrics[LOSS])
        accuracy = metrics["masked_lm_accuracy"]
        rows.append([run.name, f"{history[-1]['step']:,}", f"{minutes:.1f}", f"{loss:.4f}", f"{accuracy:.4f}"])
    columns = ["run", "steps", "minutes", "masked LM loss", "masked LM accuracy"]
    return Table(title=f"the hidden tokens of {runs[0].name}'s validation records", columns=columns, rows=rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frozen_masks", description=__doc__)
    parser.add_argument("pipelines", nargs="+", type=Path, metavar="PIPELINE")
    results.add_option(parser)
    arguments = parser.parse_args()
    results.publish([main(arguments.pipelines)], command=results.own_command(), record=arguments.record)
