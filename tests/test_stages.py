"""Notes of stages before long computations."""

import pytest

from tfattn import stages
from tfattn.config.resolve import resolve
from tfattn.runs.identity import Fingerprints
from tfattn.runs.run import Run
from tfattn.training.interruption import Stopped
from tfattn.training.runtime import Runtime

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age, height]}
  batching: {batch_size: 4}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification}
training: {epochs: 40}
ensemble: {seeds: 3}
"""


@pytest.mark.parametrize("stage", ["evaluate", "export"])
def test_a_stage_notes_required_training(tmp_path, monkeypatch, capsys, stage):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(PIPELINE)

    def interrupted(run, **options):
        raise Stopped(130)

    monkeypatch.setattr(stages, "train", interrupted)
    monkeypatch.setattr(stages, "prepare", lambda run, **options: False)
    monkeypatch.setattr(stages, "check_prepared", lambda members: None)
    with pytest.raises(Stopped):
        stages.run(Run(resolve("tiny.yaml"), fingerprints=Fingerprints(data={}, training={}), runtime=Runtime()), stage)
    said = " ".join(capsys.readouterr().err.split())
    assert f"{stage} needs trained weights: training first (epochs: 40, models: 3); Ctrl-C stops it" in said
