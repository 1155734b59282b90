"""Objectives of word vectors: losses and gradients by hand."""

import math

import keras
import numpy as np
import pytest

from tfattn.layers.word_objectives import FORK_LIMIT, FullSoftmax, HierarchicalSoftmax, NegativeSampling, huffman
from tfattn.models.word_vectors import Cbow, SkipGram

V, D, L = 5, 3, 4
COUNTS = np.array([9, 5, 4, 2, 1])
WORDS = np.array([[[0, 3, 1, 2], [4, 1, 0, 0]]])  # (B, N, L)
NOISE = np.array([[[2, 4], [0, 1]]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def objective(name):
    if name == "hierarchical_softmax":
        made = HierarchicalSoftmax(vocabulary_size=V, counts=lambda: COUNTS, width=D)
    elif name == "softmax":
        made = FullSoftmax(vocabulary_size=V, width=D)
    else:
        made = NegativeSampling(vocabulary_size=V, width=D, negatives=5)
    made.outputs.assign(np.random.default_rng(1).normal(size=made.outputs.shape))
    return made


def pairs_of(model, seed=2):
    many = L if isinstance(model, SkipGram) else 1
    return np.random.default_rng(seed).integers(0, 2, (1, 2, L, many)).astype("float32")


def loss_of(name, kind, vectors, outputs=None):
    """The loss by the formulas, a pair of words at a time."""
    made, model = objective(name), kind(vocabulary_size=V, hidden_dim=D, block=L)
    out = np.array(made.outputs) if outputs is None else outputs
    pairs, found = pairs_of(model), np.zeros((1, 2, L))
    for n, i, c in np.ndindex(2, L, pairs.shape[-1]):
        word, h = WORDS[0, n, c if kind is SkipGram else i], vectors[0, n, i]
        if name == "negative_sampling":
            noise = np.mean([-np.log(sigmoid(-h @ out[k])) for k in NOISE[0, n]])
            one = -np.log(sigmoid(h @ out[word])) + 5 * noise
        elif name == "softmax":
            one = -np.log(np.exp(h @ out[word]) / np.exp(h @ out.T).sum())
        else:
            paths, turns = huffman(COUNTS)
            one = sum(-np.log(sigmoid(t * (h @ out[f]))) for f, t in zip(paths[word], turns[word], strict=True) if t)
        found[0, n, i] += one * pairs[0, n, i, c]
    return found


@pytest.mark.parametrize("kind", [SkipGram, Cbow])
@pytest.mark.parametrize("name", ["negative_sampling", "hierarchical_softmax", "softmax"])
def test_losses_and_gradients_equal_the_formulas(name, kind):
    import tensorflow as tf

    made, model = objective(name), kind(vocabulary_size=V, hidden_dim=D, block=L)
    vectors = np.random.default_rng(3).normal(size=(1, 2, L, D)).astype("float32")
    x = tf.constant(vectors)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = made.loss(model, x, WORDS, pairs_of(model), NOISE)
        total = tf.reduce_sum(loss)
    np.testing.assert_allclose(loss, loss_of(name, kind, vectors), rtol=1e-4, atol=1e-5)
    by_vectors, by_outputs = tape.gradient(total, [x, made.outputs.value])
    step, outputs = 1e-5, np.array(made.outputs, np.float64)
    for place in [(0, 0, 1, 0), (0, 1, 2, 2)]:
        moved = [vectors.astype(np.float64) for _ in range(2)]
        moved[0][place] += step
        moved[1][place] -= step
        expected = (loss_of(name, kind, moved[0]).sum() - loss_of(name, kind, moved[1]).sum()) / (2 * step)
        assert float(by_vectors[place]) == pytest.approx(expected, rel=1e-3, abs=1e-4)
    by_outputs = tf.convert_to_tensor(by_outputs)
    for place in [(0, 0), (2, 1)]:
        moved = [outputs.copy() for _ in range(2)]
        moved[0][place] += step
        moved[1][place] -= step
        higher, lower = (loss_of(name, kind, vectors.astype(np.float64), one).sum() for one in moved)
        assert float(by_outputs[place]) == pytest.approx((higher - lower) / (2 * step), rel=1e-3, abs=1e-4)


def test_the_baseline_is_the_loss_of_zero_outputs():
    for name in ("negative_sampling", "hierarchical_softmax", "softmax"):
        made, model = objective(name), SkipGram(vocabulary_size=V, hidden_dim=D, block=2)
        made.outputs.assign(np.zeros(made.outputs.shape))
        # Each word is predicted as often as it stands in the texts.
        words = np.repeat(np.arange(V), COUNTS * 2).reshape(1, -1, 2)
        pairs = np.broadcast_to(1 - np.eye(2, dtype="float32"), (1, words.shape[1], 2, 2))
        loss = made.loss(
            model, np.ones((*words.shape, D), "float32"), words, pairs, np.zeros((1, words.shape[1], 1), int)
        )
        assert float(np.mean(loss)) == pytest.approx(made.guess, rel=1e-5)


def test_tree_paths_are_huffman_codes():
    # By hand: 1 + 2 = 3, 3 + 4 = 7, 5 + 7 = 12, 9 + 12 = 21.
    paths, turns = huffman(COUNTS)
    lengths = np.abs(turns).sum(axis=1)
    assert lengths.tolist() == [1, 2, 3, 4, 4]
    assert paths[:, 0].tolist() == [3] * V  # all begin at the root, the last fork
    assert len({tuple(zip(p, t, strict=True)) for p, t in zip(paths.tolist(), turns.tolist(), strict=True)}) == V
    assert float(np.sum(2.0**-lengths)) == 1.0
    random = np.sort(np.random.default_rng(1).integers(1, 1000, 200))[::-1]
    lengths = np.abs(huffman(random)[1]).sum(axis=1)
    entropy = -np.sum(random / random.sum() * np.log2(random / random.sum()))
    assert np.sum(2.0**-lengths) == 1.0 and entropy <= np.average(lengths, weights=random) < entropy + 1
    assert (np.diff(lengths) >= 0).all()
    paths, turns = huffman([7])
    assert paths.shape == turns.shape == (1, 0)


def test_updates_of_frequent_tree_nodes_are_bounded():
    import tensorflow as tf

    made, model = objective("hierarchical_softmax"), SkipGram(vocabulary_size=V, hidden_dim=D, block=L)
    made.outputs.assign(np.zeros(made.outputs.shape))

    def moved(blocks):
        words = np.zeros((1, blocks, L), int)
        with tf.GradientTape() as tape:
            loss = made.loss(
                model, np.ones((1, blocks, L, D), "float32"), words, np.ones((1, blocks, L, L), "f4"), None
            )
            total = tf.reduce_sum(loss)
        gradient = tf.convert_to_tensor(tape.gradient(total, made.outputs.value))
        return float(tf.reduce_max(tf.abs(gradient)))

    assert moved(1) == pytest.approx(0.5 * L * L)  # each of 16 decisions is half wrong
    assert moved(100) == pytest.approx(0.5 * FORK_LIMIT, rel=1e-3)


def test_names_of_weights_do_not_change():
    assert {keras.ops.shape(objective(name).outputs) for name in ("negative_sampling", "softmax")} == {(V, D)}
    assert objective("hierarchical_softmax").outputs.path == "hierarchical_softmax/outputs"
    assert math.isclose(objective("softmax").guess, math.log(V))
