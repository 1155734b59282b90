"""Metrics of retrieval: whether the right documents are among the first."""

import math
from collections.abc import Mapping

import numpy as np

from tfattn.rows import nearest_rows

CUTOFFS = (1, 5, 10)
RECALL, RANK, GAIN = "recall_at", "mrr_at_10", "ndcg_at_10"
RETRIEVAL_METRICS = (*(f"{RECALL}_{cutoff}" for cutoff in CUTOFFS), RANK, GAIN)
NUM_RANKED = max(CUTOFFS)


def retrieval_scores(ranked: np.ndarray, relevant: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the metrics of each of Q queries; their means are the metrics of a data set.

    Args:
        ranked: (Q, K) int, the documents of each query, best first; K is NUM_RANKED, or the number of documents.
        relevant: (P, 2) int, the pairs of a query and a relevant document, without repetitions; each query has one.

    Returns:
        by the names of RETRIEVAL_METRICS, each (Q,): `recall_at_k`, the fraction of the relevant documents among the
        first k; `mrr_at_10`, the reciprocal rank of the first relevant document, 0 after the tenth; and `ndcg_at_10`.

    Example:
        >>> scores = retrieval_scores(np.array([[2, 0, 1]]), np.array([[0, 0]]))
        >>> float(scores["recall_at_1"][0]), float(scores["recall_at_5"][0]), float(scores["mrr_at_10"][0])
        (0.0, 1.0, 0.5)

    Source: Järvelin and Kekäläinen 2002, "Cumulated gain-based evaluation of IR techniques", for the gain.
    """
    queries = len(ranked)
    width = int(max(ranked.max(), relevant[:, 1].max())) + 1
    keys = np.arange(queries)[:, None] * width + ranked
    is_relevant = np.isin(keys, relevant[:, 0] * width + relevant[:, 1])
    totals = np.bincount(relevant[:, 0], minlength=queries)
    discounts = 1 / np.log2(np.arange(NUM_RANKED) + 2)
    ideal = np.cumsum(discounts)[np.minimum(totals, NUM_RANKED) - 1]
    shown = is_relevant[:, :NUM_RANKED]
    reciprocal = shown / (np.arange(shown.shape[1]) + 1)
    return {
        **{f"{RECALL}_{cutoff}": is_relevant[:, :cutoff].sum(axis=1) / totals for cutoff in CUTOFFS},
        RANK: reciprocal.max(axis=1),
        GAIN: shown @ discounts[: shown.shape[1]] / ideal,
    }


def mean_scores(scores: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Average the scores (Q,) of each metric."""
    return {name: math.fsum(values) / len(values) for name, values in scores.items()}


def retrieval(vectors: np.ndarray, hashes: np.ndarray) -> dict[str, np.ndarray]:
    """Rank the texts of all rows other than anchors by their similarity to each anchor.

    Equal texts are one anchor, or one document.

    Args:
        vectors: (n, N, D) float32, of the anchor, the positive text and hard negatives of n rows.
        hashes: (n, N, 2) int, equal for equal texts.

    Returns:
        the `retrieval_scores` of each distinct anchor.
    """
    anchors, documents = Texts(hashes[:, 0]), Texts(hashes[:, 1:].reshape(-1, 2))
    queries = normalized(vectors[:, 0][anchors.firsts])
    corpus = normalized(vectors[:, 1:].reshape(-1, vectors.shape[-1])[documents.firsts])
    ranked, _ = nearest_rows(queries, corpus, NUM_RANKED)
    return retrieval_scores(ranked, relevant_pairs(anchors, documents))


class Texts:
    """Distinct texts among n texts.

    Args:
        hashes: (n, 2) int, equal for equal texts.

    Attributes:
        firsts: the index of the first occurrence of each distinct text.
        numbers: (n,) the number of the distinct text of each text.
    """

    def __init__(self, hashes: np.ndarray):
        _, firsts, numbers = np.unique(hashes, axis=0, return_index=True, return_inverse=True)
        self.firsts, self.numbers = firsts, numbers.reshape(-1)


def relevant_pairs(anchors: Texts, documents: Texts) -> np.ndarray:
    """Return the distinct pairs (P, 2) of an anchor and its positive text; documents are row by row."""
    per_row = len(documents.numbers) // len(anchors.numbers)
    return np.unique(np.stack([anchors.numbers, documents.numbers[::per_row]], axis=1), axis=0)


def normalized(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors to length 1, (..., D); zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
