"""The evaluation of retrieval: whether the positive text of an anchor is among the most similar texts."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tfattn.drawing.colours import BLUE, SOFT
from tfattn.drawing.figures import new_figure, styled, svg
from tfattn.evaluation import warnings
from tfattn.evaluation.baseline_models import text_vectorizer
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.matryoshka import shorter_vectors
from tfattn.evaluation.metrics import bootstrap_interval
from tfattn.evaluation.report import Headline, Marked, Picture, Piece, Section, Table, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, location
from tfattn.evaluation.wording import count, percent, percents, shown_count
from tfattn.features import EMBEDDING, TEXT_HASHES
from tfattn.tasks.embedding import Embedding
from tfattn.tasks.retrieval_metrics import GAIN, NUM_RANKED, RANK, RETRIEVAL_METRICS, Retrieval
from tfattn.trained.predictions import SplitPredictions

MAX_CHARACTERS = 300  # of a displayed text
BLOCK = 256  # queries whose similarities are in memory at a time
NAMES = {
    "recall_at_1": "recall@1",
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
    RANK: "MRR@10",
    GAIN: "nDCG@10",
}


def report(task: Embedding, predictions: SplitPredictions) -> TaskReport:
    """Evaluate retrieval: each anchor is a query, the corpus is all other texts of the rows. Equal texts count once.

    Args:
        task: the trained task.
        predictions: `embedding` (n, N, D), and the target `text_hashes` (n, N, 2).

    Returns:
        a report whose metrics are those of RETRIEVAL_METRICS with 95 % bootstrap intervals; `baseline_METRIC` of
        TF-IDF; `METRIC/D` of vectors cut to each of several Matryoshka dimensions; and `queries` and `documents`.
    """
    rows, hashes = predictions.rows, predictions.targets[TEXT_HASHES]
    vectors = predictions.values[EMBEDDING]
    found = Retrieval.of(vectors, hashes)
    texts = [row[role] for row in rows for role in task.columns[1:]]
    queries = [rows[index][task.columns[0]] for index in found.anchors.firsts]
    documents = [texts[index] for index in found.documents.firsts]
    baseline = Retrieval(found.anchors, found.documents, rank_by_tfidf(queries, documents))
    metrics = {name: value for metric in RETRIEVAL_METRICS for name, value in _with_interval(found, metric).items()}
    metrics |= {f"baseline_{name}": value for name, value in baseline.metrics.items()}
    sizes = {size: Retrieval.of(vectors[..., :size], hashes).metrics for size in task.dimensions}
    if len(sizes) > 1:
        metrics |= {f"{name}/{size}": value for size, values in sizes.items() for name, value in values.items()}
    metrics |= {"queries": len(queries), "documents": len(documents)}
    metrics |= _without_leaked(predictions.leaked, found)
    table = [
        [NAMES[name], percent(metrics[name]), percents(metrics[f"{name}_low"], metrics[f"{name}_high"])]
        + [percent(metrics[f"baseline_{name}"])]
        for name in RETRIEVAL_METRICS
    ]
    columns = ["metric", "embedding", "95% interval", "TF-IDF"]
    interval = percents(metrics[f"{GAIN}_low"], metrics[f"{GAIN}_high"])
    in_total = f"{len(queries):,} queries, {count(len(documents), 'document')}"
    return TaskReport(
        question="which text belongs to a text?",
        measured=f"{count(len(rows), f'{predictions.split} row')}, {in_total}",
        metrics=metrics,
        predictions=_lines(rows, found),
        headline=Headline(
            metric=percent(metrics["recall_at_10"]),
            sentence=f"The positive text is among the first {NUM_RANKED} of {len(documents):,} documents for "
            f"{percent(metrics['recall_at_10'])} of the queries.",
            warnings=_warnings(metrics, predictions, len(documents)),
            remarks=[
                f"Baseline: TF-IDF finds it for {percent(metrics['baseline_recall_at_10'])}.",
                f"nDCG@10 is {percent(metrics[GAIN])} (95% confidence interval {interval}).",
            ],
            facts={NAMES[RANK]: percent(metrics[RANK]), "dimensions": f"{task.dimensions[0]:,}"},
        ),
        sections=[
            Section(
                "Retrieval metrics",
                [Table(columns, table), Picture("recall", svg(recall_curves(found, baseline)), "recall by rank")],
            ),
            *shorter_vectors({size: values[GAIN] for size, values in sizes.items()}, NAMES[GAIN]),
            _misses(found, rows, queries, documents),
        ],
        unit="row",
        summary=f"recall@10 {metrics['recall_at_10']:.4f}, MRR@10 {metrics[RANK]:.4f}, nDCG@10 {metrics[GAIN]:.4f} of "
        f"{len(documents):,} documents; TF-IDF {metrics['baseline_recall_at_10']:.4f}, "
        f"{metrics[f'baseline_{RANK}']:.4f}, {metrics[f'baseline_{GAIN}']:.4f}",
        baselines={name: metrics[f"baseline_{name}"] for name in RETRIEVAL_METRICS},
    )


def rank_by_tfidf(queries: Sequence[str], documents: Sequence[str]) -> np.ndarray:
    """Rank documents by the cosine of TF-IDF vectors: (Q, K) int, the best NUM_RANKED documents of each query."""
    texts = pd.DataFrame({"text": documents})
    vectorizer = text_vectorizer(texts)
    corpus, rows = vectorizer.fit_transform(texts["text"]).T.tocsr(), vectorizer.transform(queries)
    ranked = []
    for first in range(0, len(queries), BLOCK):
        similarities = (rows[first : first + BLOCK] @ corpus).toarray()
        ranked.append(np.argsort(-similarities, axis=1, kind="stable")[:, :NUM_RANKED])
    return np.concatenate(ranked)


def _with_interval(found: Retrieval, metric: str) -> dict[str, float]:
    values = found.scores[metric]
    sums = np.stack([values, np.ones_like(values)], axis=1)
    low, high = bootstrap_interval(sums, lambda sums: sums[:, 0] / sums[:, 1])
    return {metric: float(values.mean()), f"{metric}_low": low, f"{metric}_high": high}


def _without_leaked(leaked: np.ndarray, found: Retrieval) -> dict[str, float]:
    """Return the number of leaked rows, and the gain of the queries of the other rows."""
    metrics: dict[str, float] = {"leaked_rows": int(leaked.sum())}
    others = np.unique(found.anchors.numbers[~leaked])
    if leaked.any() and len(others):
        values = found.scores[GAIN][others]
        sums = np.stack([values, np.ones_like(values)], axis=1)
        low, high = bootstrap_interval(sums, lambda sums: sums[:, 0] / sums[:, 1])
        name = f"{GAIN}_without_leaked"
        metrics |= {name: float(values.mean()), f"{name}_low": low, f"{name}_high": high}
    return metrics


def _warnings(metrics: dict[str, float], predictions: SplitPredictions, documents: int) -> list[str]:
    found = []
    if metrics[GAIN] <= metrics[f"baseline_{GAIN}"]:
        found.append(f"TF-IDF has a higher nDCG@10: {percent(metrics[f'baseline_{GAIN}'])}.")
    if documents <= NUM_RANKED:
        found.append(f"There are only {documents} documents: recall@10 is 100% for any vectors.")
    leaked = warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit="row", metric=GAIN)
    return [*found, *leaked]


def _misses(found: Retrieval, rows: Sequence[dict[str, str]], queries: list[str], documents: list[str]) -> Section:
    """Return queries whose positive text is not the first, evenly spaced."""
    first_relevant = dict(reversed(found.relevant.tolist()))
    wrong = np.flatnonzero(found.scores[RANK] < 1)
    if not len(wrong):
        return Section("Retrieval errors", [Text("The positive text is always the first.")])
    chosen = wrong[np.linspace(0, len(wrong) - 1, min(MAX_ERRORS_SHOWN, len(wrong))).astype(int)]
    lines: list[tuple[str, list[Piece]]] = []
    for number in chosen.tolist():
        lines.append((location(rows[found.anchors.firsts[number]]), [Piece(queries[number][:MAX_CHARACTERS])]))
        reciprocal = found.scores[RANK][number]
        rank = f"rank {round(1 / reciprocal)}" if reciprocal else f"after rank {NUM_RANKED}"
        lines.append((rank, [Piece(documents[first_relevant[number]][:MAX_CHARACTERS], "missed")]))
        lines.append(("rank 1", [Piece(documents[found.ranked[number, 0]][:MAX_CHARACTERS], "wrong")]))
    words = f"{shown_count(len(chosen), len(wrong))}. Orange is the positive text, red the most similar text."
    return Section("Retrieval errors", [Text(words), Marked(lines)])


def _lines(rows: Sequence[dict[str, str]], found: Retrieval) -> Iterator[dict[str, Any]]:
    """Yield the rows with the rank of the first positive text of the anchor, null after the tenth."""
    for row, query in zip(rows, found.anchors.numbers.tolist(), strict=True):
        reciprocal = found.scores[RANK][query]
        yield {**row, "rank": round(1 / reciprocal) if reciprocal else None}


@styled
def recall_curves(found: Retrieval, baseline: Retrieval) -> Figure:
    """Plot the fraction of queries with a relevant document among the first k, for k up to NUM_RANKED."""
    figure = new_figure(4.2, 2.8)
    axes = figure.add_subplot()
    ranks = np.arange(1, NUM_RANKED + 1)
    for retrieval, colour, label in ((baseline, SOFT, "TF-IDF"), (found, BLUE, "embedding")):
        reached = retrieval.scores[RANK][:, None] >= 1 / ranks - 1e-9
        axes.plot(ranks, reached.mean(axis=0), color=colour, marker="o", markersize=3, label=label)
    axes.set_ylim(0, 1.02)
    axes.set_xticks(ranks)
    axes.set_xlabel("k")
    axes.set_title("Queries with the positive text among the first k")
    axes.legend(fontsize=9)
    return figure
