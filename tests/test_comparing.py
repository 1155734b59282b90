"""Comparisons from the file to the page, with runs in separate processes."""

import json

import pytest

from tfattn.comparing import compare
from tfattn.errors import ConfigError

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  split: {validation: 0.5}
  preprocessing: {name: table, numeric: [age]}
  batching: {batch_size: 4}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification}
training: {epochs: 1, optimizer: {name: sgd, learning_rate: 0.1, momentum: 0}, clip_norm: null}
runtime: {precision: float32}
"""
COMPARISON = """\
name: rates
pipeline: tiny.yaml
metric: METRIC
seeds: 1
variants:
  small: {}
  too large: {training.optimizer.learning_rate: 1e38, training.epochs: 3}
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{age},{'old' if age > 20 else 'young'}\n" for age in range(40))
    (tmp_path / "rows.csv").write_text("age,kind\n" + rows)
    (tmp_path / "tiny.yaml").write_text(PIPELINE)
    (tmp_path / "rates.yaml").write_text(COMPARISON.replace("METRIC", "accuracy"))


def test_a_comparison_runs_all_variants_including_a_diverging_one(tmp_path, capsys):
    folder = compare(tmp_path / "rates.yaml")
    small, large = json.loads((folder / "comparison.json").read_text())
    assert 0 <= small["value"] <= 1 and any(name.startswith("gradient_norm/") for name in small["history"][0])
    assert large["variant"] == "too large" and large["value"] is None
    assert (folder / "report.html").is_file() and "error: " in (folder / "logs" / "too_large-1.log").read_text()
    printed = capsys.readouterr().err
    assert "run 2 of 2: too large, seed 1" in printed and "rates: comparison of variants" in printed
    with pytest.raises(ConfigError, match="has no such metric: expected one of accuracy, .*received f2"):
        compare(tmp_path / "rates.yaml", ["metric=f2"])


def test_a_wrong_variant_is_refused_before_the_first_run(tmp_path):
    (tmp_path / "rates.yaml").write_text(COMPARISON.replace("training.epochs", "training.epoch"))
    with pytest.raises(ConfigError, match="training.epoch.*Did you mean `epochs`"):
        compare(tmp_path / "rates.yaml")
    assert not (tmp_path / "runs").exists()


def test_a_file_of_one_variant_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="variants"):
        compare(tmp_path / "rates.yaml", ["variants={alone: {}}"])
