"""From raw text to an ELMo, its export, and a classifier and a tagger on it; early errors."""

import json
import random

import numpy as np
import pytest
import tensorflow as tf

from tfattn.files import numbered

NOUNS, PLACES = ("cat", "dog", "cow", "hen"), ("Rome", "Oslo", "Bern", "Kiel")
ELMO = """\
name: small_elmo
data:
  source: {name: plain_text, path: texts.txt, documents: lines}
  preprocessing: {name: spelled_words, max_length: 20}
  examples: {length: 24}
  split: {validation: 0.1}
  batching: {batch_size: 8}
model:
  name: elmo
  hidden_dim: 16
  cell_dim: 24
  character_dim: 6
  filters: [[1, 8], [2, 16]]
  num_highways: 1
  dropout: 0.0
task: {name: bidirectional_language_modeling, samples: null}
training: {epochs: 6, optimizer: {name: adamw, learning_rate: 1e-2}}
runtime: {precision: float32, threads: 1}
"""
CLASSIFIER = """\
name: about
data:
  source: {name: csv, path: rows.csv, fields: {text: text, label: label}}
  preprocessing: {name: spelled_words, max_length: 20}
  split: {validation: 0.2}
  batching: {batch_size: 16}
model: {name: bilstm, hidden_dim: 16, num_layers: 1, embedding_dim: null, elmo: {pretrained: saved_models/small_elmo}}
task: {name: classification, pooling: pooler}
training: {epochs: 8, optimizer: {name: adamw, learning_rate: 2e-2}}
runtime: {precision: float32, threads: 1}
"""
TAGGER = """\
name: tagger
data:
  source: {name: conll, path: tags.txt, fields: {text: 1, tags: 2}, scheme: iob2}
  preprocessing: {name: spelled_words, max_length: 20, doc_stride: 8}
  split: {validation: 0.2}
  batching: {batch_size: 16}
model: {name: bilstm, hidden_dim: 16, num_layers: 1, embedding_dim: 8, elmo: {pretrained: saved_models/small_elmo}}
task: {name: token_classification}
training: {epochs: 4, optimizer: {name: adamw, learning_rate: 1e-2}}
runtime: {precision: float32, threads: 1}
"""


def write_texts(folder):
    draw = random.Random(1)
    rows = [(draw.choice(NOUNS), draw.choice(PLACES), draw.random() < 0.5) for _ in range(300)]
    texts = [f"The {noun} {'lives' if lives else 'died'} in {place}." for noun, place, lives in rows]
    (folder / "texts.txt").write_text("\n".join(texts))
    lines = [f'"{text}",{"alive" if row[2] else "dead"}' for text, row in zip(texts, rows, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["text,label", *lines]))
    tagged = ["\n".join(f"{word} {'B-LOC' if word in PLACES else 'O'}" for word in text[:-1].split()) for text in texts]
    (folder / "tags.txt").write_text("\n\n".join(tagged) + "\n")
    for name, pipeline in (("elmo", ELMO), ("about", CLASSIFIER), ("tagger", TAGGER)):
        (folder / f"{name}.yaml").write_text(pipeline)


@pytest.fixture(scope="module")
def trained(run_once):
    """A folder in which the small ELMo has been trained and exported."""
    folder, answer = run_once("small_elmo", write_texts, "elmo.yaml")
    assert answer.status == 0, answer.errors
    return folder


def metrics(folder, name):
    return json.loads((folder / "runs" / name / "latest" / "metrics.json").read_text())


def test_the_model_is_better_than_word_frequencies(trained):
    found = metrics(trained, "small_elmo")
    assert found["perplexity"] < 0.5 * found["baseline_perplexity"]


def test_the_export_returns_word_vectors(trained):
    versions = numbered(trained / "saved_models/small_elmo")
    read = tf.saved_model.load(str(versions[max(versions)])).signatures["serving_default"]
    answer = read(text=tf.constant(["The cat lives.", "", "Unheard-of!", "x" * 200]))
    assert [[word.decode() for word in row if word] for row in answer["words"].numpy()] == [
        ["The", "cat", "lives", "."],
        [],
        ["Unheard", "-", "of", "!"],
        ["x" * 200],
    ]
    vectors = answer["vectors"].numpy()
    assert vectors.shape == (4, 4, 3, 16) and not vectors[1].any() and np.abs(vectors[2:, 0]).min() > 0
    assert answer["length"].numpy().tolist() == [4, 0, 4, 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["about", "tagger"])
def test_other_models_use_and_export_it(trained, monkeypatch, command, name):
    monkeypatch.chdir(trained)
    answer = command("run", f"{name}.yaml")
    assert answer.status == 0, answer.errors
    assert "Pretrained weights from saved_models/small_elmo" in answer.errors
    found = metrics(trained, name)
    assert found["accuracy" if name == "about" else "f1"] > 0.8
    assert "agree" in answer.errors


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model.elmo.pretrained=texts.txt", "no known format of pretrained weights"),
        ("model.elmo.pretrained=saved_models/other", "no such pretrained weights"),
        ("model.elmo.hidden_dim=12", "tensors have another shape"),
        ("model.elmo={name: elmo, hidden_dim: 8}", "unknown key"),
        ("model.elmo.pretrained=minilm", "the pretrained weights are of another model"),
        ("data.preprocessing={name: wordpiece, vocabulary: train}", "the model reads the characters of words"),
    ],
)
def test_invalid_settings_are_refused(trained, monkeypatch, command, override, told):
    monkeypatch.chdir(trained)
    answer = command("run", "about.yaml", "--set", override, "--set", "name=refused")
    assert answer.status != 0
    assert told in " ".join(answer.errors.split())
