"""Metrics of retrieval: whether the right documents are among the first."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfattn.rows import nearest_rows, normalized

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


@dataclass(frozen=True)
class Retrieval:
    """A ranking of the texts of all rows other than anchors, for each anchor. Equal texts count once.

    Attributes:
        anchors: the anchors of n rows, Q distinct texts.
        documents: the other texts of the rows, row by row, the positive text first.
        ranked: (Q, K) int, the numbers of the distinct documents of each query, best first.
    """

    anchors: Texts
    documents: Texts
    ranked: np.ndarray

    @classmethod
    def of(cls, vectors: np.ndarray, hashes: np.ndarray) -> "Retrieval":
        """Rank by cosine similarity.

        Args:
            vectors: (n, N, D) float32, of the anchor, the positive text and hard negatives of n rows.
            hashes: (n, N, 2) int, equal for equal texts.
        """
        anchors, documents = Texts(hashes[:, 0]), Texts(hashes[:, 1:].reshape(-1, 2))
        queries = normalized(vectors[:, 0][anchors.firsts])
        corpus = normalized(vectors[:, 1:].reshape(-1, vectors.shape[-1])[documents.firsts])
        return cls(anchors, documents, nearest_rows(queries, corpus, NUM_RANKED)[0])

    @cached_property
    def relevant(self) -> np.ndarray:
        """The distinct pairs (P, 2) of a query and its positive document."""
        per_row = len(self.documents.numbers) // len(self.anchors.numbers)
        return np.unique(np.stack([self.anchors.numbers, self.documents.numbers[::per_row]], axis=1), axis=0)

    @cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """The `retrieval_scores` of each query."""
        return retrieval_scores(self.ranked, self.relevant)

    @property
    def metrics(self) -> dict[str, float]:
        """The means of the scores."""
        return {name: float(values.mean()) for name, values in self.scores.items()}
