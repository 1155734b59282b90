"""Runs with untrained weights, which take no training."""

import pytest

from tfattn import stages
from tfattn.config.resolve import resolve
from tfattn.runs.identity import Fingerprints
from tfattn.runs.run import Run
from tfattn.training.checkpoints import Checkpoints
from tfattn.training.runtime import Runtime
from tfattn.training.seeding import seeded
from tfattn.training.variables import frozen, trained

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age, height]}
  batching: {batch_size: 8}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification, specificity: 0.5}
ensemble: {folds: 2, seeds: 2}
"""
ROWS = "age,height,kind\n" + "".join(f"{20 + n},{150 + 3 * n % 37},{'ab'[n % 2]}\n" for n in range(24))


@pytest.fixture(scope="module")
def open_run(tmp_path_factory):
    """Return a function that opens a run with overrides, prepared data and untrained weights."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "tiny.yaml").write_text(PIPELINE)
    (folder / "rows.csv").write_text(ROWS)

    def open_run(*overrides):
        places = (f"runs_folder={folder}/runs", f"data.source.path={folder}/rows.csv")
        run = Run(
            resolve(folder / "tiny.yaml", [*places, *overrides]), fingerprints=Fingerprints({}, {}), runtime=Runtime()
        )
        stages.prepare(run)
        for member in run.members:
            if not (member.folder / "checkpoints").exists():
                with seeded(member.training_seed):
                    task = member.task(member.preprocessor())
                kept = Checkpoints(member.folder / "checkpoints", writes=True)
                kept.save_frozen(frozen(task))
                kept.save(1, {"weights": trained(task)}, {"step": 1, "best": None})
        return run

    return open_run
