"""A published Marian is fine-tuned, evaluated, exported and asked; its settings come from its folder."""

import json
from pathlib import Path

import pytest

from tests.pretrained.published_models import write_translator
from tfattn import files
from tfattn.config.resolve import resolve

PIPELINE = """
name: captions
data:
  source: {name: csv, path: captions.tsv, fields: {source: en, target: de}}
  split: {validation: 0.25}
  preprocessing: {name: sentencepiece, vocabulary: pretrained, max_length: 24}
  batching: {batch_size: 8}
model: {pretrained: marian}
task: {name: translation, decoding: {num_beams: 2}}
training: {epochs: 1, min_steps: null}
"""
WORDS = {"a": "ein", "two": "zwei", "dog": "Hund", "man": "Mann", "park": "Park", "and": "und"}


def write_project(folder):
    write_translator("marian", folder / "marian")
    pairs = [(a, b) for a in WORDS for b in WORDS]
    lines = [f"{a} {b}\t{WORDS[a]} {WORDS[b]}" for a, b in pairs]
    (folder / "captions.tsv").write_text("\n".join(["en\tde", *lines]) + "\n")
    (folder / "captions.yaml").write_text(PIPELINE)


@pytest.fixture
def fine_tuned(run_once, monkeypatch):
    folder, answer = run_once("published_translator", write_project, "captions.yaml")
    monkeypatch.chdir(folder)
    return answer


def test_a_marian_is_fine_tuned_exported_and_asked(fine_tuned, command):
    assert fine_tuned.status == 0, fine_tuned.errors
    assert "0 missing" in fine_tuned.output + fine_tuned.errors
    (version,) = Path("saved_models/captions").glob("[0-9]*")
    assert files.read_json(version / "assets.extra/parity.json")["text_agreement"] == 1.0
    assert {path.name for path in (version / "assets").iterdir()} >= {"source.model", "source.json", "target.model"}
    Path("new.txt").write_text("a dog\n\ntwo unseen words\n")
    answer = command("translate", "captions", "--input", "new.txt")
    assert answer.status == 0, answer.errors
    first, second, third = map(json.loads, answer.output.splitlines())
    assert first["text"] and not second["text"] and third["length"] <= 11


def test_the_search_is_as_published_unless_the_pipeline_says_otherwise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)
    config = resolve("captions.yaml")
    decoding = config.at("task", "decoding")
    assert decoding["num_beams"] == 2
    assert (decoding["max_length"], decoding["stopping"], decoding["length_penalty_offset"]) == (11, "beams", 0.0)
    assert decoding["forced_end"] and decoding["renormalize"]
    assert config.where("task", "decoding", "stopping").startswith("pretrained marian")


@pytest.mark.slow
def test_published_weights_translate_without_training(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write_translator("t5", tmp_path / "t5")
    Path("new.txt").write_text("a dog\n\n")
    for _ in range(2):  # it is exported once
        answer = command("translate", "t5", "--input", "new.txt")
        assert answer.status == 0, answer.errors
        assert [json.loads(line)["source"] for line in answer.output.splitlines()] == ["a dog", ""]
    assert len(list(Path("saved_models/t5").glob("[0-9]*"))) == 1
