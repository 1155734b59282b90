"""Skip-gram and CBOW: predictions and gradients."""

import numpy as np
import pytest
from keras import ops

from tfattn.models.word_vectors import Cbow, SkipGram

pytestmark = pytest.mark.every_backend

V, D, L = 7, 3, 4
FEATURES = {
    "token_ids": np.array([[1, 2, 3, 4, 5, 6]], "int32"),
    "words_before": np.array([[0, 1, 1, 3, 4, 0]], "int32"),
    "words_after": np.array([[1, 2, 1, 1, 0, 0]], "int32"),
}


def array(x):
    return np.array(ops.convert_to_numpy(x))


def test_skip_gram_predicts_window_words_from_each_word():
    model = SkipGram(vocabulary_size=V, hidden_dim=D, block=L)
    vectors = array(model(FEATURES)["sequence_output"])
    assert vectors.shape == (1, 2, L, D)
    table = array(model.table)
    assert np.abs(table).max() <= 0.5 / D and np.abs(table).max() > 0.4 / D
    np.testing.assert_array_equal(vectors[0, 0], table[[1, 2, 3, 4]])
    pairs = array(model.pairs(FEATURES))
    assert [np.flatnonzero(row).tolist() for row in pairs[0, 0]] == [[1], [0, 2, 3], [1, 3], [0, 1, 2]]
    assert not pairs[0, 1].any()  # of another block or another text are no pairs
    outputs = np.random.default_rng(1).normal(size=(1, 2, L, 2, D)).astype("float32")
    scores = array(model.scores(ops.convert_to_tensor(vectors), ops.convert_to_tensor(outputs)))
    np.testing.assert_allclose(scores, np.einsum("bnld,bncmd->bnlcm", vectors, outputs), atol=1e-6)
    assert array(model.predicted(ops.ones((1, 2, L, 5)))).shape == (1, 2, 1, L, 5)


def test_cbow_predicts_a_word_from_the_window_mean():
    model = Cbow(vocabulary_size=V, hidden_dim=D, block=L)
    vectors, table = array(model(FEATURES)["sequence_output"]), array(model.table)
    for place, others in enumerate([[2], [1, 3, 4], [2, 4], [1, 2, 3]]):
        np.testing.assert_allclose(vectors[0, 0, place], table[others].mean(axis=0), atol=1e-6)
    assert not vectors[0, 1].any()
    assert array(model.pairs(FEATURES))[0, :, :, 0].tolist() == [[1] * L, [0] * L]
    outputs = np.random.default_rng(1).normal(size=(1, 2, L, 2, D)).astype("float32")
    scores = array(model.scores(ops.convert_to_tensor(vectors), ops.convert_to_tensor(outputs)))
    np.testing.assert_allclose(scores[:, :, :, 0], np.einsum("bnld,bnlmd->bnlm", vectors, outputs), atol=1e-6)


@pytest.mark.parametrize("kind", [SkipGram, Cbow])
def test_the_vector_of_a_word_is_the_mean_of_its_own_and_those_of_its_n_grams(kind):
    model = kind(vocabulary_size=V, subword_buckets=5, hidden_dim=D, block=L)
    table = array(model.table)
    assert table.shape == (V + 5, D)
    found = array(model.vectors(np.array([2, 0, -1], "int32"), np.array([[0, 4], [3, -1], [1, -1]], "int32")))
    expected = [table[[2, V, V + 4]], table[[0, V + 3]], table[[V + 1]]]
    np.testing.assert_allclose(found, [rows.mean(axis=0) for rows in expected], atol=1e-6)


def test_skip_gram_predicts_with_n_gram_means():
    model = SkipGram(vocabulary_size=V, subword_buckets=5, hidden_dim=D, block=L)
    subwords = np.array([[[1, 2], [0, -1], [-1, -1], [4, 3], [2, 1], [0, 0]]], "int32")
    vectors = array(model({**FEATURES, "subword_ids": subwords})["sequence_output"])
    expected = array(model.vectors(FEATURES["token_ids"], subwords))
    np.testing.assert_allclose(vectors[0, 0], expected[0, :L], atol=1e-6)


def test_the_gradient_of_the_window_mean_is_not_divided():
    tf = pytest.importorskip("tensorflow")
    if "tensorflow" not in str(type(ops.ones(1))):
        pytest.skip("reads gradients by TensorFlow's tape")
    model = Cbow(vocabulary_size=V, hidden_dim=D, block=L)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(model(FEATURES)["sequence_output"])
    gradient = tf.convert_to_tensor(tape.gradient(total, model.table.value)).numpy()
    # How many windows each word stands in.
    assert gradient[:, 0].tolist() == [0, 2, 3, 2, 2, 0, 0]


@pytest.mark.parametrize("name", ["skip_gram", "cbow"])
def test_mismatched_negative_samples_are_refused(name, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(
        "name: a\n"
        "data:\n"
        "  source: {name: plain_text, path: a.txt}\n"
        "  preprocessing: {name: corpus_words}\n"
        "  batching: {batch_size: 1}\n"
        f"model: {{name: {name}, block: 33}}\n"
        "task: {name: word2vec}\n"
    )
    answer = command("check", "a.yaml")
    assert answer.status == 2 and "model.block: wrong value" in answer.errors
    assert "expected an integer > 0 and a multiple of 2, received 33" in answer.errors
