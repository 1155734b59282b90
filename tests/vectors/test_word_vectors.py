"""Neighbors, analogies and similarities by cosine."""

import numpy as np
import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.vectors.word_vectors import WordVectors

WORDS = ["the", "king", "man", "woman", "queen", "royal"]
VECTORS = np.array([[1, 1, 1], [2, 2, 0], [1, 0, 0], [1, 0, 3], [0.5, 0.6, 1.5], [0, 4, 0]], "float32")
ZERO = np.zeros((1, 3), "float32")


@pytest.fixture
def vectors():
    return WordVectors(WORDS, VECTORS)


def cosine(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def test_neighbors_are_nearest_by_angle_for_any_norms(vectors):
    found = vectors.neighbors("king", k=3)
    expected = {word: cosine(vector, VECTORS[1]) for word, vector in zip(WORDS, VECTORS, strict=True) if word != "king"}
    assert [word for word, _ in found] == sorted(expected, key=expected.get, reverse=True)[:3]
    np.testing.assert_allclose([score for _, score in found], [expected[word] for word, _ in found], rtol=1e-6)


def test_a_vector_has_neighbors_too(vectors):
    found = vectors.neighbors(np.array([0, 9, 0], "float32"), k=2)
    assert found[0] == ("royal", 1.0) and found[1].word == "king"


def test_an_analogy_is_the_nearest_to_a_sum_of_vectors_of_length_1(vectors):
    units = {word: vector / np.linalg.norm(vector) for word, vector in zip(WORDS, VECTORS, strict=True)}
    wanted = units["king"] - units["man"] + units["woman"]
    (best, *others) = vectors.analogy(["king", "woman"], ["man"])
    assert best.word == "queen"
    np.testing.assert_allclose(best.score, cosine(units["queen"], wanted), rtol=1e-6)
    assert {word for word, _ in others} == {"the", "royal"}  # the question's words are no answers


def test_k_is_limited_by_the_vocabulary(vectors):
    assert len(vectors.neighbors("king", k=99)) == 5
    assert vectors.analogy(WORDS, k=3) == []


def test_a_zero_vector_has_similarity_0():
    vectors = WordVectors([*WORDS, "empty"], np.concatenate([VECTORS, ZERO]))
    assert vectors.similarity("empty", "king") == 0
    assert {score for _, score in vectors.neighbors("empty")} == {0.0}
    assert dict(vectors.neighbors("king", k=9))["empty"] == 0


def test_similarity_is_the_cosine(vectors):
    assert vectors.similarity("king", "queen") == pytest.approx(cosine(VECTORS[1], VECTORS[4]), rel=1e-6)
    assert "king" in vectors and "kings" not in vectors and len(vectors) == 6


@pytest.mark.parametrize(("word", "remedy"), [("quen", "`queen`"), ("KING", "`king`"), ("womam", "`woman`"), ("", "")])
def test_an_unknown_word_is_refused_with_words_that_are_spelled_alike(vectors, word, remedy):
    for ask in (vectors.vector, vectors.neighbors, lambda word: vectors.analogy(["king"], [word])):
        with pytest.raises(DataError, match="no vector of this word: expected one of 6 words, received") as caught:
            ask(word)
        assert caught.value.received == repr(word)
        assert remedy in caught.value.remedy and bool(caught.value.remedy) == bool(remedy)


def test_a_vector_of_another_width_has_no_neighbors(vectors):
    with pytest.raises(ConfigError, match=r"a vector of 3 numbers, and k of at least 1, received shape \(2,\), k=1"):
        vectors.neighbors(np.ones(2, "float32"), k=1)
    with pytest.raises(ConfigError, match="k=0"):
        vectors.neighbors("king", k=0)
