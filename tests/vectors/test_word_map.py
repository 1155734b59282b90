"""The map of words: every word once, on the principal axes."""

import numpy as np
import pytest

from tfattn.drawing.figures import svg
from tfattn.errors import ConfigError, DataError
from tfattn.vectors.word_map import principal_axes, word_map
from tfattn.vectors.word_vectors import WordVectors

WORDS = [f"word {number}" for number in range(30)] + ["天气"]
VECTORS = np.random.default_rng(2).normal(size=(31, 9)).astype("float32")


@pytest.fixture
def vectors():
    return WordVectors(WORDS, VECTORS)


def test_the_axes_equal_scikit_learn():
    from sklearn.decomposition import PCA

    peer = PCA(2)
    expected = peer.fit_transform(VECTORS)
    places, shares = principal_axes(VECTORS)
    np.testing.assert_allclose(np.abs(places), np.abs(expected), atol=1e-4)
    np.testing.assert_allclose(shares, peer.explained_variance_ratio_, rtol=1e-4)
    assert (places.max(axis=0) >= -places.min(axis=0)).all()


@pytest.mark.parametrize("rows", [np.ones((4, 3)), np.array([[1.0], [2.0], [4.0]])])
def test_rows_may_differ_along_fewer_axes(rows):
    places, shares = principal_axes(rows)
    assert places.shape == (len(rows), 2) and np.isfinite(places).all() and np.isfinite(shares).all()


def test_every_word_is_drawn_once_without_overlap(vectors):
    words = [*WORDS[:12], WORDS[0], "天气"]
    figure = word_map(vectors, words)
    (axes,) = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == sorted({*words})
    boxes = [text.get_window_extent(figure.canvas.get_renderer()) for text in axes.texts]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    assert all(f">{word}<" in svg(figure) for word in words)


def test_repeated_words_are_drawn_once(vectors):
    assert svg(word_map(vectors, WORDS[:5])) == svg(word_map(vectors, WORDS[:5]))


def test_too_few_words_and_unknown_ones(vectors):
    with pytest.raises(ConfigError, match="too few words for a map: expected at least 3 distinct words, received 2"):
        word_map(vectors, ["word 1", "word 1", "word 2"])
    with pytest.raises(DataError, match="no vector of this word.*'word 99'"):
        word_map(vectors, ["word 1", "word 99", "word 2"])
