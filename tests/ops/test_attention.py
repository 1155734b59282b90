"""Attention and its scores: formulas and masks."""

import keras
import numpy as np
import pytest

from tfattn.ops import masks
from tfattn.ops.attention import additive_scores, dot_scores, scaled_dot_product_attention
from tfattn.ops.attention import attend as gather

pytestmark = pytest.mark.every_backend

DRAW = np.random.default_rng(0)


def attend(query, key, value, **options):
    means, weights = scaled_dot_product_attention(*map(keras.ops.convert_to_tensor, (query, key, value)), **options)
    return keras.ops.convert_to_numpy(means), keras.ops.convert_to_numpy(weights)


def heads(length, *, batch=2, width=4):
    return DRAW.normal(size=(batch, 3, length, width)).astype("float32")


def test_by_hand():
    # q = (2, 0), keys (1, 0) and (0, 1), K = 4 after padding with zeros: scores 2/2 and 0, weights e/(e+1), 1/(e+1).
    query = np.array([[[[2.0, 0.0, 0.0, 0.0]]]], "float32")
    key = np.array([[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]]], "float32")
    value = np.array([[[[1.0, 0.0, 0.0, 0.0], [0.0, 10.0, 0.0, 0.0]]]], "float32")
    means, weights = attend(query, key, value)
    np.testing.assert_allclose(weights[0, 0, 0], [0.73105858, 0.26894142], rtol=1e-6)
    np.testing.assert_allclose(means[0, 0, 0], [0.73105858, 2.6894142, 0.0, 0.0], rtol=1e-6)


def test_equals_the_formula_in_float64():
    query, key, value = heads(5), heads(7), heads(7)
    means, weights = attend(query, key, value)
    scores = np.einsum("bhtk,bhsk->bhts", query, key, dtype="float64") / 2.0
    expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, expected, rtol=1e-5)
    np.testing.assert_allclose(means, np.einsum("bhts,bhsk->bhtk", expected, value), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_weights_sum_to_1_and_masked_keys_have_weight_0(dtype):
    mask = DRAW.random((2, 1, 5, 7)) < 0.5
    mask[..., 0] = True
    means, weights = scaled_dot_product_attention(
        *(keras.ops.cast(x, dtype) for x in (10 * heads(5), 10 * heads(7), heads(7))), mask=mask
    )
    weights = keras.ops.convert_to_numpy(keras.ops.cast(weights, "float32"))
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5 if dtype == "float32" else 2e-2)
    assert (weights[np.broadcast_to(~mask, weights.shape)] == 0).all()
    assert keras.backend.standardize_dtype(means.dtype) == dtype


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_fully_masked_row_is_finite(dtype):
    mask = np.ones((2, 1, 5, 7), bool)
    mask[0, :, 2] = False
    parts = [keras.ops.cast(x, dtype) for x in (30 * heads(5), 30 * heads(7), heads(7))]
    means, weights = scaled_dot_product_attention(*parts, mask=mask)
    for answer in (means, weights):
        assert np.isfinite(keras.ops.convert_to_numpy(keras.ops.cast(answer, "float32"))).all()


def test_masked_keys_change_nothing():
    query, key, value = heads(5), heads(7), heads(7)
    mask = masks.padding(np.array([[1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0]]))
    means, _ = attend(query, key, value, mask=mask)
    key[0, :, 4:], value[0, :, 4:] = 100.0, -100.0
    key[1, :, 6:], value[1, :, 6:] = -100.0, 100.0
    np.testing.assert_array_equal(attend(query, key, value, mask=mask)[0], means)


def test_dropout_acts_on_the_weights():
    query, key, value = heads(5), heads(7), heads(7)
    means, weights = attend(query, key, value)
    halved, same = attend(query, key, value, dropout=lambda weights: weights / 2)
    np.testing.assert_allclose(halved, means / 2, rtol=1e-6)
    np.testing.assert_array_equal(same, weights)


def array(tensor):
    return keras.ops.convert_to_numpy(keras.ops.cast(tensor, "float32"))


def test_additive_attention_by_hand():
    # W s = (0.5, -0.5), U h = (0.5, 0.5) and (-0.5, 1), v = (1, 2). Scores: tanh 1 + 2 tanh 0 = 0.76159416 and
    # tanh 0 + 2 tanh 0.5 = 0.92423431; weights 1 / (1 + exp(0.16264016)) = 0.45942933 and 0.54057067.
    query, key = np.array([[[0.5, -0.5]]], "float32"), np.array([[[0.5, 0.5], [-0.5, 1.0]]], "float32")
    scores = additive_scores(query, key, np.array([1.0, 2.0], "float32"))
    np.testing.assert_allclose(array(scores), [[[0.76159416, 0.92423431]]], rtol=1e-6)
    means, weights = gather(scores, np.array([[[1.0, 0.0], [10.0, 1.0]]], "float32"))
    np.testing.assert_allclose(array(weights), [[[0.45942933, 0.54057067]]], rtol=1e-6)
    np.testing.assert_allclose(array(means), [[[5.8651360, 0.54057067]]], rtol=1e-6)


def test_dot_scores_by_hand():
    query, key = np.array([[[1.0, 2.0], [0.0, -1.0]]], "float32"), np.array([[[3.0, 1.0], [-2.0, 0.5]]], "float32")
    np.testing.assert_allclose(array(dot_scores(query, key)), [[[5.0, -1.0], [-1.0, -0.5]]])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_weights_are_computed_in_float32(dtype):
    query, key, value = (DRAW.normal(size=(2, length, 4)) for length in (3, 5, 5))
    real = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
    query, key, value = (keras.ops.cast(x, dtype) for x in (query, key, value))
    for scores in (dot_scores(query, key), additive_scores(query, key, keras.ops.ones((4,), dtype))):
        means, weights = gather(scores, value, real)
        assert {keras.backend.standardize_dtype(x.dtype) for x in (scores, means, weights)} == {"float32"}
        np.testing.assert_allclose(array(weights).sum(-1), 1.0, atol=1e-6)
        assert (array(weights)[0, :, 3:] == 0).all()


def test_a_fully_masked_source_is_finite():
    means, weights = gather(DRAW.normal(size=(1, 2, 3)), DRAW.normal(size=(1, 3, 4)), np.zeros((1, 3), bool))
    assert np.isfinite(array(means)).all() and np.isfinite(array(weights)).all()


def test_a_soft_cap_bounds_scores_before_the_mask():
    query, key, value = 5 * heads(5), heads(7), heads(7)
    mask = np.arange(7) < 6
    means, weights = attend(query, key, value, soft_cap=1.5, mask=mask[None, None, None])
    scores = np.where(mask, 1.5 * np.tanh(np.einsum("bhtk,bhsk->bhts", query, key) / 2.0 / 1.5), -np.inf)
    expected = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    np.testing.assert_allclose(means, np.einsum("bhts,bhsk->bhtk", expected, value), atol=1e-5)
