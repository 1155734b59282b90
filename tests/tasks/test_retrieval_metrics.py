"""Metrics of retrieval equal their definitions, and count equal texts once."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from tfattn.tasks.retrieval_metrics import Retrieval, retrieval_scores

DRAW = np.random.default_rng(2)


def test_scores_of_known_rankings():
    ranked = np.array([[3, 1, 0, 2], [0, 1, 2, 3], [3, 2, 1, 0]])
    relevant = np.array([[0, 1], [1, 0], [1, 3], [2, 3]])
    scores = retrieval_scores(ranked, relevant)
    assert scores["recall_at_1"].tolist() == [0, 0.5, 1] and scores["recall_at_5"].tolist() == [1, 1, 1]
    assert scores["mrr_at_10"].tolist() == [0.5, 1, 1]


def test_the_gain_equals_that_of_scikit_learn():
    similarities = DRAW.random((5, 30))
    relevance = DRAW.random((5, 30)) < 0.15
    relevance[:, 0] = True
    ranked = np.argsort(-similarities, axis=1)[:, :10]
    found = retrieval_scores(ranked, np.argwhere(relevance))["ndcg_at_10"]
    for number in range(5):
        expected = ndcg_score(relevance[number : number + 1], similarities[number : number + 1], k=10)
        assert found[number] == pytest.approx(expected)


def test_a_document_after_the_tenth_is_not_found():
    scores = retrieval_scores(np.arange(10)[None], np.array([[0, 12]]))
    assert {float(values[0]) for values in scores.values()} == {0.0}


def test_equal_texts_are_one_query_and_one_document():
    # Rows: two questions about one paragraph, one of which is asked about another paragraph, too.
    hashes = np.array([[[1, 0], [7, 0]], [[2, 0], [7, 0]], [[2, 0], [8, 0]]])
    vectors = np.eye(4, dtype="float32")[[[0, 0], [1, 0], [1, 1]]]
    found = Retrieval.of(vectors, hashes)
    assert found.ranked.shape == (2, 2) and len(found.documents.firsts) == 2
    assert len(found.relevant) == 3
    assert found.metrics["recall_at_1"] == pytest.approx((1 + 0.5) / 2)


def test_hard_negatives_are_documents():
    hashes = np.arange(9).reshape(3, 3)[:, :, None].repeat(2, axis=2)
    vectors = DRAW.normal(size=(3, 3, 8)).astype("float32")
    vectors[:, 2] = vectors[:, 0]  # as similar as can be
    found = Retrieval.of(vectors, hashes)
    assert found.ranked.shape == (3, 6) and found.metrics["recall_at_1"] == 0
