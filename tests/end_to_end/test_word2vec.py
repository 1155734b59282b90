"""From raw text to word vectors with neighbors: words in similar contexts have similar vectors."""

import json
import random

import pytest

from tfattn.vectors.opening import open_vectors

ANIMALS, METALS = ("cat", "dog", "cow", "hen"), ("iron", "gold", "zinc", "lead")
PIPELINE = """\
name: words
data:
  source: {{name: plain_text, path: texts.txt, documents: lines}}
  preprocessing: {{name: corpus_words, min_count: 3}}
  examples: {{length: 16, sample: null, window: 3}}
  split: {{validation: 0.1}}
  batching: {{batch_size: 32}}
model: {{name: {model}, hidden_dim: 16}}
task: {{name: word2vec, objective: {objective}}}
training:
  epochs: 6
  updates_per_batch: 32
  sparse_embeddings: true
  clip_norm: null
  optimizer: {{name: sgd, learning_rate: 0.05, momentum: 0}}
  schedule: {{name: linear, warmup: 0}}
  selection: last_epoch
runtime: {{precision: float32, threads: 1}}
"""


def write_texts(folder):
    """Sentences in which animals stand beside verbs of animals, and metals beside those of metals."""
    draw = random.Random(1)
    kinds = [(ANIMALS, ("eats", "sleeps", "runs")), (METALS, ("melts", "shines", "rusts"))]
    lines = []
    for _ in range(1500):
        nouns, verbs = draw.choice(kinds)
        lines.append(
            f"The {draw.choice(nouns)} {draw.choice(verbs)} and {draw.choice(verbs)} like a {draw.choice(nouns)}."
        )
    (folder / "texts.txt").write_text("\n".join([*lines, "A hapax."]))


@pytest.mark.parametrize(
    "model, objective",
    [
        ("skip_gram", "negative_sampling"),
        pytest.param("cbow", "hierarchical_softmax", marks=pytest.mark.slow),
        pytest.param("skip_gram", "softmax", marks=pytest.mark.slow),
    ],
)
def test_words_in_similar_contexts_have_similar_vectors(tmp_path, monkeypatch, command, model, objective):
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path)
    (tmp_path / "words.yaml").write_text(PIPELINE.format(model=model, objective=objective))
    answer = command("run", "words.yaml")
    assert answer.status == 0, answer.errors
    metrics = json.loads((tmp_path / "runs/words/latest/metrics.json").read_text())
    assert metrics["loss"] < metrics["baseline_loss"] and metrics["num_words"] == 18
    report = (tmp_path / "runs/words/latest/report.html").read_text()
    assert "Nearest neighbors by word frequency" in report and "<svg" in report
    vectors = open_vectors("words")
    assert "hapax" not in vectors and vectors.width == 16
    for kind in (ANIMALS, METALS):
        for word in kind:
            near = {one.word for one in vectors.neighbors(word, k=3)}
            assert near == set(kind) - {word}, (word, near)
    answer = command("neighbors", "words", "cat", "--k", "3")
    assert set(ANIMALS) - {"cat"} <= set(answer.output.split())
