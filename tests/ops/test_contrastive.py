"""Losses of embeddings equal their formulas in NumPy."""

import keras
import numpy as np
import pytest

from tfattn.ops import contrastive

pytestmark = pytest.mark.every_backend

DRAW = np.random.default_rng(3)
ANCHORS, POSITIVES, NEGATIVES = DRAW.normal(size=(3, 5, 8)).astype("float32")
SCORES = np.array([1.0, 3.0, 3.0, 0.5, 5.0], "float32")


def numpy(x):
    return keras.ops.convert_to_numpy(x)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_cosines():
    np.testing.assert_allclose(
        numpy(contrastive.cosines(ANCHORS, POSITIVES)), (unit(ANCHORS) * unit(POSITIVES)).sum(-1), rtol=1e-5
    )


def test_in_batch_negatives_are_a_cross_entropy_over_similarities():
    candidates = np.concatenate([POSITIVES, NEGATIVES])
    is_negative = DRAW.random((5, 10)) < 0.6
    found = numpy(contrastive.in_batch_negatives(ANCHORS, candidates, is_negative, temperature=0.05))
    logits = np.float64(unit(ANCHORS)) @ unit(candidates).T / 0.05
    for row in range(5):
        counted = is_negative[row].copy()
        counted[row] = True
        expected = np.log(np.exp(logits[row][counted]).sum()) - logits[row, row]
        assert found[row] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_an_anchor_without_negatives_has_no_loss():
    found = contrastive.in_batch_negatives(ANCHORS, POSITIVES, np.zeros((5, 5), bool), temperature=0.1)
    np.testing.assert_allclose(numpy(found), 0, atol=1e-6)


def test_cosent_counts_pairs_of_pairs_with_different_scores():
    similarities, counts = np.array([0.3, 0.2, 0.9, 0.5, 0.7], "float32"), np.array([1, 1, 1, 1, 0], bool)
    found = numpy(contrastive.cosent(similarities, SCORES, counts, temperature=0.1))
    terms = [
        np.exp((similarities[j] - similarities[i]) / 0.1) for i in range(4) for j in range(4) if SCORES[i] > SCORES[j]
    ]
    assert len(terms) == 5
    assert found == pytest.approx(np.log1p(sum(terms)), rel=1e-4)


def test_cosent_of_equal_scores_is_0():
    found = contrastive.cosent(SCORES, np.ones(5, "float32"), np.ones(5, bool), temperature=0.05)
    assert float(numpy(found)) == 0
