"""Pre-training from raw text to a served model, and fine-tuning of its encoder."""

import json
import random
import shutil

import pytest

from tfattn import stages
from tfattn.trained.ensemble import load
from tfattn.training.prediction import Evaluator
from tfattn.training.runtime import Runtime

WORDS = (
    "the",
    "a",
    "man",
    "dog",
    "store",
    "park",
    "went",
    "ran",
    "to",
    "from",
    "bought",
    "bread",
    "milk",
    "and",
    "then",
)
SIZES = "hidden_dim: 32, num_layers: 1, num_heads: 2, intermediate_dim: 32, max_sequence_length: 24"
PIPELINE = """\
name: {name}
data:
  source: {{name: documents, path: texts.txt}}
  split: {{validation: 0.2}}
  preprocessing: {{name: wordpiece, vocabulary: train, vocabulary_size: 120, max_length: 24}}
  examples: {{{examples}}}
  batching: {{batch_size: 16}}
model: {{name: {model}, {sizes}}}
task: {{name: {task}}}
training: {{{training}, optimizer: {{name: adamw, learning_rate: 3e-3}}, selection: last_epoch}}
runtime: {{precision: float32}}
"""
MODERN = PIPELINE.format(
    name="modern", examples="packing: true", model="modern_bert", sizes=SIZES, task="masked_lm", training="epochs: 2"
)


def write_texts(folder, *, documents=60, lines=6):
    """Documents of sentences of a few words."""
    draw = random.Random(0)
    text = "\n\n".join(
        "\n".join(" ".join(draw.choices(WORDS, k=draw.randint(4, 8))) + " ." for _ in range(lines))
        for _ in range(documents)
    )
    (folder / "texts.txt").write_text(text + "\n")


def write_project(folder):
    write_texts(folder)
    (folder / "modern.yaml").write_text(MODERN)


@pytest.fixture(scope="module")
def pretrained(run_once):
    return run_once("pretraining", write_project, "modern.yaml")


@pytest.fixture
def project(pretrained, tmp_path, monkeypatch):
    shutil.copytree(pretrained[0], tmp_path / "project", symlinks=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_one_command_trains_and_exports(pretrained, project):
    answer = pretrained[1]
    assert answer.status == 0, answer.errors
    assert "of the masked tokens are correct" in answer.errors
    assert "parity in a fresh process: tokens agree" in answer.errors
    metrics = json.loads((project / "runs/modern/latest/metrics.json").read_text())
    assert {"loss", "masked_lm_accuracy", "masked_lm_loss", "baseline_masked_lm_loss"} <= set(metrics)
    report = (project / "runs/modern/latest/report.html").read_text()
    assert "Comparison with the baseline" in report and "[MASK]" in report


def test_predict_fills_masks(project, command):
    answer = command("fill-mask", "modern", "the man [MASK] to the [MASK] .", "--top-k", "2")
    assert answer.status == 0, answer.errors
    lines = answer.output.splitlines()
    assert lines[0] == "[MASK] 1 of 2" and lines[3] == "[MASK] 2 of 2" and len(lines) == 6
    assert lines[1].endswith("to the [MASK] .")
    answer = command("fill-mask", "modern", "the man")
    assert answer.status == 1 and "the text has no [MASK]: expected [MASK] in capitals" in answer.errors


def test_a_line_without_a_mask_is_reported_in_its_line(project, command):
    (project / "texts_to_fill.txt").write_text("the [MASK] .\nthe man\n")
    answer = command("predict", "modern", "--input", "texts_to_fill.txt")
    filled, refused = map(json.loads, answer.output.splitlines())
    assert answer.status == 1 and len(filled["token_str"]) == 10
    assert "has no [MASK] among its first 22 tokens" in refused["error"]


def test_an_exported_encoder_is_fine_tuned(project, command):
    rows = "\n".join(f"the man went to the {place},{place}" for place in ("store", "park") * 10)
    (project / "rows.csv").write_text(f"text,label\n{rows}\n")
    (project / "tuned.yaml").write_text(
        "name: tuned\n"
        "data:\n"
        "  source: {name: csv, path: rows.csv, fields: {text: text, label: label}}\n"
        "  preprocessing: {name: wordpiece, vocabulary: pretrained, max_length: 24}\n"
        "  batching: {batch_size: 8}\n"
        "  split: {validation: 0.2}\n"
        "model: {pretrained: saved_models/modern}\n"
        "task: {name: classification}\n"
        "training: {epochs: 1}\n"
        "runtime: {precision: float32}\n"
    )
    answer = command("train", "tuned.yaml")
    assert answer.status == 0, answer.errors
    assert "0 missing" in answer.errors and "masked_lm_head/bias" in answer.errors.replace("\n", "")
    shown = command("show", "tuned.yaml").output
    assert "name: modern_bert" in shown and "vocabulary_size: " in shown


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bert", "modern_bert"])
def test_twenty_documents_are_memorized(model, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path, documents=25)
    text = PIPELINE.format(
        name="heart",
        examples="dupe_factor: 1",
        model=model,
        sizes=SIZES.replace("32", "64").replace("num_layers: 1", "num_layers: 2, dropout: 0.0"),
        task="bert_pretraining",
        training="steps: 800, validate_every: 800",
    )
    (tmp_path / "heart.yaml").write_text(text)
    assert command("train", "heart.yaml").status == 0
    run = stages.open_run(tmp_path / "heart.yaml", None)
    runtime = Runtime(precision="float32", strategy="one_device").start()
    metrics = Evaluator(load(run).task, runtime)(run.members[0].reader("train"))
    assert metrics["masked_lm_accuracy"] >= 0.98 and metrics["next_sentence_accuracy"] == 1.0
