"""Ranking metrics: equal to scikit-learn's and to their definitions, and pessimistic about ties."""

import numpy as np
import pytest
from keras import ops
from sklearn.metrics import ndcg_score

from tfattn.ops.ranking import ranking_metrics, ranks

DRAW = np.random.default_rng(0)


def measured(scores, grades, mask=None):
    scores, grades = np.float32(scores), np.float32(grades)
    mask = np.ones(grades.shape, bool) if mask is None else mask
    return {name: ops.convert_to_numpy(x) for name, x in ranking_metrics(scores, grades, mask).items()}


def test_ndcg_is_that_of_scikit_learn():
    scores, grades = DRAW.normal(size=(50, 15)), DRAW.integers(0, 4, (50, 15))
    found = measured(scores, grades)["ndcg_at_10"]
    expected = [ndcg_score(grades[[row]], scores[[row]], k=10) for row in range(50)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_reciprocal_rank_and_recall_follow_their_definitions():
    scores, grades = DRAW.normal(size=(50, 15)), DRAW.integers(0, 2, (50, 15))
    found = measured(scores, grades)
    for row in range(50):
        relevant = grades[row][np.argsort(-scores[row])] > 0
        first = np.flatnonzero(relevant[:10])
        assert found["mrr_at_10"][row] == pytest.approx(1 / (1 + first[0]) if len(first) else 0)
        assert found["recall_at_10"][row] == pytest.approx(relevant[:10].sum() / max(1, relevant.sum()))


def test_of_equal_scores_the_least_relevant_come_first():
    found = measured([[1, 1, 1, 1]], [[1, 0, 0, 0]])
    assert found["mrr_at_10"] == pytest.approx(1 / 4) and found["ndcg_at_10"] == pytest.approx(1 / np.log2(5))
    assert ops.convert_to_numpy(
        ranks(np.float32([[1, 1, 2]]), np.zeros((1, 3), "float32"), np.ones((1, 3), bool))
    ).tolist() == [[2, 3, 1]]


def test_padding_changes_nothing_whatever_its_scores_and_grades():
    scores, grades = DRAW.normal(size=(20, 12)), DRAW.integers(0, 3, (20, 12))
    mask = np.arange(12) < DRAW.integers(1, 13, 20)[:, None]
    found = measured(np.where(mask, scores, 9), np.where(mask, grades, 5), mask)
    for row, count in enumerate(mask.sum(axis=1)):
        alone = measured(scores[[row], :count], grades[[row], :count])
        assert all(found[name][row] == pytest.approx(value[0], abs=1e-6) for name, value in alone.items())


def test_a_list_without_a_relevant_document_scores_0():
    assert all(value == 0 for value in measured([[0.3, 0.1]], [[0, 0]]).values())
