"""A model with batch normalization, from a table to exports that predict as the trained model does."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

PIPELINE = """\
name: normalized
data:
  source: {name: csv, path: rows.csv, fields: {a: a, b: b, label: label}}
  split: {validation: 0.25}
  preprocessing: {name: table, numeric: [a, b], scaling: standard}
  batching: {batch_size: 16}
model:
  name: feature_tokenizer_transformer
  hidden_dim: 8
  num_layers: 1
  num_heads: 2
  normalization: batch_norm
task: {name: classification}
training:
  epochs: 4
  accumulation: 2
  averaging: {name: ema, decay: 0.9}
  optimizer: {name: adamw, learning_rate: 2e-2}
export: {formats: [saved_model, litert], litert_precision: float32}
runtime: {precision: float32}
"""


@pytest.fixture(scope="module")
def finished(run_once):
    def write(folder):
        values = np.random.default_rng(0).normal(size=(120, 2))
        lines = [f"{a:.4f},{b:.4f},{'high' if a * b > 0 else 'low'}" for a, b in values]
        (folder / "rows.csv").write_text("\n".join(["a,b,label", *lines]))
        (folder / "normalized.yaml").write_text(PIPELINE)

    return run_once("normalized", write, "normalized.yaml")


def test_exports_predict_with_the_running_averages(finished):
    folder, answer = finished
    assert answer.status == 0, answer
    (version,) = (folder / "saved_models/normalized").iterdir()
    parity = json.loads((version / "assets.extra/parity.json").read_text())
    assert parity["label_agreement"] == 1.0 and parity["max_score_difference"] < 1e-5
    assert parity["litert"]["float32"]["max_score_difference"] < 1e-5


def test_checkpoints_have_the_running_averages_and_their_averages(finished):
    folder, _ = finished
    newest = max((folder / "runs/normalized/latest/checkpoints").glob("step-*"))
    for group in ("weights", "averages"):
        tensors = load_file(newest / f"{group}.safetensors")
        means = [values for path, values in tensors.items() if path.endswith("moving_mean")]
        assert len(means) == 2 and all(values.any() for values in means)
