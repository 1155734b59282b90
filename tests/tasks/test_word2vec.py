"""Word vectors as a task: weights of positions, and similar vectors for similar contexts."""

import keras
import numpy as np
import pytest

from tests.contracts.task import check_task
from tfattn.models.word_vectors import Cbow, SkipGram
from tfattn.tasks.word2vec import Word2Vec

V = 8


class Counter:
    counts = np.arange(V, 0, -1)

    def encode(self, texts):
        raise AssertionError("is not asked")

    def word_subwords(self):
        return np.array([[number % 5, -1] for number in range(V)], "int32")


def batch(rows=4, length=6, seed=1):
    draw = np.random.default_rng(seed)
    return {
        "token_ids": draw.integers(0, V, (rows, length)).astype("int32"),
        "padding_mask": np.ones((rows, length), bool),
        "words_before": np.minimum(draw.integers(1, 3, (rows, length)), [0, 1, 2] * 2).astype("int32"),
        "words_after": np.minimum(draw.integers(1, 3, (rows, length)), [2, 1, 0] * 2).astype("int32"),
        "noise_ids": draw.integers(0, V, (rows, length // 2)).astype("int32"),
        "weights": np.ones(rows, "float32"),
    }


def made(kind=SkipGram, subword_buckets=0, **options):
    keras.utils.set_random_seed(1)
    model = kind(vocabulary_size=V, subword_buckets=subword_buckets, hidden_dim=4, block=4)
    task = Word2Vec(model=model, preprocessor=Counter(), **options)
    for weight in task.weights:
        weight.assign(np.random.default_rng(2).normal(size=weight.shape))
    return task


@pytest.mark.parametrize("kind", [SkipGram, Cbow])
@pytest.mark.parametrize("objective", ["negative_sampling", "hierarchical_softmax", "softmax"])
def test_task_contract(kind, objective, tmp_path):
    check_task(lambda: made(kind, objective=objective), batch(), folder=tmp_path)


@pytest.mark.parametrize("kind", [SkipGram, Cbow])
def test_task_contract_with_n_grams(kind, tmp_path):
    check_task(lambda: made(kind, subword_buckets=5), batch(), folder=tmp_path)


def test_vectors_are_those_of_all_words():
    alone, task = made(), made(subword_buckets=5)
    np.testing.assert_array_equal(alone.word_vectors(), np.array(alone.model.table))
    table = np.array(task.model.table)
    expected = [(table[word] + table[V + word % 5]) / 2 for word in range(V)]
    np.testing.assert_allclose(task.word_vectors(), expected, atol=1e-6)


def test_positions_are_weighted_by_their_predictions():
    weights = made().loss_weights(batch())["pairs"]
    assert weights.shape == (4, 2, 4)
    # Texts have three words each, of which the block of four cuts the second: of its last two both have a neighbor.
    assert np.array(weights)[:, 0, 3].tolist() == [0] * 4 and np.array(weights)[:, 1, :2].tolist() == [[1, 1]] * 4
    assert not np.array(weights)[:, 1, 2:].any()
