"""The sampled softmax: the full formula, and its approximation by samples."""

import keras
import numpy as np
import pytest

from tfattn.layers.word_softmax import WordSoftmax

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(2, 3, 4)).astype("float32")
IDS = DRAW.integers(0, 20, size=(2, 3)).astype("int32")


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def build(**options):
    layer = WordSoftmax(num_words=20, width=4, **options)
    layer.build()
    draw = np.random.default_rng(1)
    for weight in layer.trainable_weights:
        weight.assign(draw.normal(size=weight.shape))
    return layer


def plain(layer):
    scores = X @ array(layer.table.embeddings).T + array(layer.bias)[:, 0]
    return np.log(np.exp(scores).sum(axis=-1)) - np.take_along_axis(scores, IDS[..., None], -1)[..., 0]


@pytest.mark.every_backend
def test_sampling_all_words_equals_the_full_softmax():
    layer = build()
    np.testing.assert_allclose(array(layer(X, IDS)), plain(layer), atol=1e-5)


@pytest.mark.every_backend
def test_many_sampled_words_approximate_the_full_softmax():
    layer = build(samples=200_000)
    np.testing.assert_allclose(array(layer.sampled(X, IDS)), plain(layer), atol=0.05)


def test_few_sampled_words_lower_the_loss():
    layer = build(samples=8)
    found = np.stack([array(layer.sampled(X, IDS)) for _ in range(3)])
    assert (found > 0).all() and np.abs(found[0] - found[1]).max() > 1e-3, "others are drawn each time"
