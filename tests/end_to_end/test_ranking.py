"""Ranking from a table of pairs to a server: training, report, export, prediction, and errors with their lines."""

import contextlib
import json
import random
import re
from pathlib import Path

import pytest

from tfattn import files

THINGS = ["ball", "car", "dog", "tree", "sun", "sea"]
FIELDS = "{query: question, document: paragraph, grade: relevant}"
PIPELINE = f"""\
name: ranker
data:
  source: {{name: grouped_documents, source: {{name: csv, path: pairs.csv, fields: {FIELDS}}}}}
  preprocessing: {{name: wordpiece, vocabulary: train, vocabulary_size: 80, max_length: 12, fields: [query, documents]}}
  batching: {{batch_size: 8}}
  split: {{validation: 0.25}}
model: {{name: bert, hidden_dim: 16, num_layers: 1, num_heads: 2, intermediate_dim: 32, max_sequence_length: 12}}
task: {{name: ranking}}
training: {{epochs: 1, optimizer: {{name: adamw, learning_rate: 5e-3}}}}
runtime: {{precision: float32}}
"""


def table(queries=40):
    """A document is relevant if it has the word of the query; lists have two to four documents."""
    draw = random.Random(1)
    yield "question,paragraph,relevant"
    for number in range(queries):
        words = draw.sample(THINGS, 2 + number % 3)
        right = draw.randrange(len(words))
        for index, word in enumerate(words):
            yield f"where is the {words[right]} {number},a {word} is here,{int(index == right)}"


def write(folder: Path, lines) -> None:
    (folder / "pairs.csv").write_text("".join(f"{line}\n" for line in lines))
    (folder / "ranker.yaml").write_text(PIPELINE)


def test_a_table_of_pairs_becomes_a_reranker(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, table())
    answer = command("run", "ranker.yaml")
    assert answer.status == 0, answer.errors
    metrics = files.read_json(tmp_path / "runs/ranker/latest/metrics.json")
    assert metrics["queries"] == 10 and 0 < metrics["ndcg_at_10_low"] <= metrics["ndcg_at_10"] <= 1
    assert metrics["baseline_ndcg_at_10"] == 1  # BM25 needs no training to find the word
    assert "Comparison with BM25" in (tmp_path / "runs/ranker/latest/report.html").read_text()
    rows = [{"query": "where is the sun", "documents": ["a sun is here", "a sea"]}, {"query": "x", "documents": ["a"]}]
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer = command("predict", "ranker", "--input", "new.jsonl")
    assert answer.status == 0, answer.errors
    first, second = map(json.loads, answer.output.splitlines())
    assert len(first["scores"]) == 2 and second["scores"][0] > 0 and not any(second["scores"][1:])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["q,a,yes"], 'pairs.csv:12: the grade of document 0 is no grade.*received "yes"'),
        (["q,a,-1"], "pairs.csv:12: the grade of document 0 is no grade"),
        (["q,a,1", "q,,0"], "pairs.csv:12: document 1 of 2 is empty"),
        (["q,a,1", "q,a,0"], "pairs.csv:12: document 1 of 2 repeats document 0"),
    ],
)
def test_an_invalid_pair_is_located(tmp_path, command, lines, message):
    with contextlib.chdir(tmp_path):
        write(tmp_path, [*list(table(9))[:11], *lines])
        answer = command("prepare", "ranker.yaml")
    assert answer.status == 1
    assert re.search(message, answer.errors), answer.errors


def test_lists_with_equal_grades_leave_nothing_to_rank(tmp_path, command):
    with contextlib.chdir(tmp_path):
        write(tmp_path, ["question,paragraph,relevant", *(f"q{n},a{m},1" for n in range(9) for m in range(2))])
        answer = command("prepare", "ranker.yaml")
    assert answer.status == 1 and "there is nothing to rank" in answer.errors and "mined_negatives" in answer.errors
