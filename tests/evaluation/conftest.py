"""Shared fixtures of reports: the run of a report, and predictions for its rows."""

from dataclasses import asdict

import numpy as np
import pytest

from tfattn import files
from tfattn.config.resolve import resolve
from tfattn.evaluation import evaluate
from tfattn.runs.identity import Fingerprints
from tfattn.runs.run import Run
from tfattn.trained.predictions import SplitPredictions
from tfattn.training.environment import ENVIRONMENT, Environment
from tfattn.training.runtime import Runtime

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age]}
  batching: {batch_size: 4}
  split: {validation: 0.2}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification}
"""


@pytest.fixture(scope="session")
def write():
    """Writes findings into the folder of a run, and returns that folder."""

    def write(folder, findings, *, split="test", history="", **options):
        folder.mkdir(exist_ok=True)
        (folder / "tiny.yaml").write_text(PIPELINE)
        config = resolve(folder / "tiny.yaml", [f"runs_folder={folder}/runs"])
        run = Run(config, fingerprints=Fingerprints({}, {}), runtime=Runtime())
        files.write_json(run.folder / ENVIRONMENT, asdict(Environment("CPU", 2, 1, 1, "float32", "fast", 9, 9)))
        if history:
            files.write_text(run.folder / "history.jsonl", history)
        evaluate.write(findings, run, split=split, **options)
        return run.folder

    return write


@pytest.fixture(scope="session")
def predictions():
    """Predictions for some rows, of which those at the places `leaked` are also training rows."""

    def predictions(rows, values, targets, *, split="test", leaked=(), members=()):
        is_leaked = np.array([row["row"] in leaked for row in rows], bool)
        return SplitPredictions(split, rows, values, targets, is_leaked, members)

    return predictions
