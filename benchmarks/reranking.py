"""A search with and without a reranker on top.

    python -m benchmarks.reranking RERANKER [--retriever EXPORT] [--top 10] [--queries N]

The queries are the validation rows of the reranker's run with `mined_negatives`, and the collection is all documents of
these rows. The first search is BM25, or the cosine of the vectors of an export that embeds texts; the reranker orders
the best documents of the first search. The reranker has not seen these documents if the run divides them by group. The
retriever must not have been trained on them either.

    python -m benchmarks.reranking rerank_squad --retriever retrieval_squad
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import results
from benchmarks.results import Table
from tfattn import files
from tfattn.data.bm25 import Bm25
from tfattn.evaluation.metrics import bootstrap_interval
from tfattn.features import DOCUMENT, DOCUMENTS, EMBEDDING, ENCODED, QUERY, SCORE
from tfattn.rows import evenly_spaced
from tfattn.serving.client.local import LocalModel, load

BATCH_SIZE = 32
METRICS = ("recall@1", "recall@10", "MRR@10")


def main(reranker: str, *, retriever: str | None, top: int, queries: int | None) -> list[Table]:
    """Measure both orders of the documents."""
    (lines,) = Path("runs").glob(f"{reranker}/latest/predictions.jsonl")
    rows = files.read_json_lines(lines, dict)
    documents = list(dict.fromkeys(row[DOCUMENTS][0] for row in rows))
    rows = evenly_spaced(rows, queries or len(rows))
    numbers = {text: number for number, text in enumerate(documents)}
    right = np.array([numbers[row[DOCUMENTS][0]] for row in rows])
    asked = [row[QUERY] for row in rows]
    scores = _by_vectors(load(retriever), asked, documents) if retriever else _by_words(asked, documents)
    first = np.argsort(-scores, axis=1, kind="stable")
    pairs = [(query, documents[number]) for query, found in zip(asked, first, strict=True) for number in found[:top]]
    model = load(reranker)
    order = np.argsort(-_scored(model, pairs).reshape(len(rows), -1), axis=1, kind="stable")
    again = np.concatenate([np.take_along_axis(first[:, :top], order, axis=1), first[:, top:]], axis=1)
    search = retriever or "BM25"
    table = [
        [name, *(f"{value:.4f} ({low:.4f} to {high:.4f})" for value, low, high in _metrics(ranked, right))]
        for name, ranked in ((search, first), (f"{search}, then {reranker}", again))
    ]
    title = f"{len(rows):,} questions, {len(documents):,} documents; the reranker orders the best {top}"
    return [Table(title=title, columns=["search", *METRICS], rows=table)]


def _metrics(ranked: np.ndarray, right: np.ndarray) -> list[tuple[float, float, float]]:
    """Return the metrics of the ranked documents (Q, n), each with its 95 % interval."""
    ranks = 1 + np.argmax(ranked == right[:, None], axis=1)
    values = np.stack([ranks <= 1, ranks <= 10, np.where(ranks <= 10, 1 / ranks, 0)], axis=1)
    means = [bootstrap_interval(column[:, None], lambda sums: sums[:, 0] / len(values)) for column in values.T]
    return [(float(column.mean()), low, high) for column, (low, high) in zip(values.T, means, strict=True)]


def _by_words(queries: Sequence[str], documents: Sequence[str]) -> np.ndarray:
    index = Bm25(documents)
    return np.stack([index.scores(query) for query in queries])


def _by_vectors(model: LocalModel, queries: Sequence[str], documents: Sequence[str]) -> np.ndarray:
    queries, documents = (_vectors(model, texts) for texts in (queries, documents))
    return queries @ documents.T


def _vectors(model: LocalModel, texts: Sequence[str]) -> np.ndarray:
    """Return vectors of length 1, of the default signature or of `features`."""
    (name,) = model.inputs
    batches = [texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE)]
    found = []
    for batch in batches:
        outputs = model.arrays([{name: text} for text in batch], signature="serving_default")
        if EMBEDDING not in outputs:
            outputs = {EMBEDDING: model.arrays([{name: text} for text in batch], signature="features")[ENCODED]}
        found.append(outputs[EMBEDDING])
    vectors = np.concatenate(found)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _scored(model: LocalModel, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Return the scores of pairs of a query and a document, computed in batches of similar length."""
    scores = np.zeros(len(pairs), np.float32)
    by_length = sorted(range(len(pairs)), key=lambda number: len(pairs[number][1]))
    for start in range(0, len(pairs), BATCH_SIZE):
        batch = by_length[start : start + BATCH_SIZE]
        rows = [dict(zip((QUERY, DOCUMENT), pairs[number], strict=True)) for number in batch]
        scores[batch] = model.arrays(rows, signature=SCORE)[SCORE]
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reranking", description=__doc__.splitlines()[0])
    parser.add_argument("reranker", help="the name of the run and its export")
    parser.add_argument("--retriever", help="the name of an export that embeds texts; by default BM25")
    parser.add_argument("--top", type=int, default=10, help="how many documents to rerank")
    parser.add_argument("--queries", type=int, help="how many queries; by default all")
    results.add_option(parser)
    given = parser.parse_args()
    tables = main(given.reranker, retriever=given.retriever, top=given.top, queries=given.queries)
    results.publish(tables, command=results.own_command(), record=given.record)
