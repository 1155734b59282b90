"""Attention rollout: the product of layers, each with half of its input as residual."""

import numpy as np

from tfattn.ops.rollout import rollout


def drawn(layers, heads, length, *, is_causal=False):
    weights = np.random.default_rng(0).uniform(size=(layers, heads, length, length))
    weights = np.tril(weights) if is_causal else weights
    return weights / weights.sum(axis=-1, keepdims=True)


def test_one_layer_is_the_mean_of_heads_and_the_residual():
    weights = drawn(1, 3, 4)
    np.testing.assert_allclose(rollout(weights)[0, 0], 0.5 * weights[0].mean(axis=0) + 0.5 * np.eye(4), atol=1e-6)


def test_layers_multiply_and_rows_sum_to_1():
    weights = drawn(3, 2, 5)
    first, second, third = (0.5 * layer.mean(axis=0) + 0.5 * np.eye(5) for layer in weights)
    found = rollout(weights)
    assert found.shape == (3, 1, 5, 5)
    np.testing.assert_allclose(found[2, 0], third @ second @ first, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, atol=1e-6)


def test_rollout_is_causal():
    assert not np.triu(rollout(drawn(4, 2, 6, is_causal=True)), 1).any()


def test_two_tokens_by_hand():
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])[None, None]
    np.testing.assert_allclose(rollout(np.concatenate([swap, swap]))[1, 0], [[0.5, 0.5], [0.5, 0.5]])
