"""The Transformer block: normalization, first positions, and stochastic depth."""

import keras
import numpy as np
import pytest

from tfattn.layers.transformer_block import TransformerBlock

X = np.random.default_rng(0).normal(3.0, 2.0, size=(2, 6, 8)).astype("float32")
ROWS = np.random.default_rng(0).normal(size=(6, 5, 8)).astype("float32")


def block(norm, **options):
    keras.utils.set_random_seed(0)
    return TransformerBlock(
        **{"num_heads": 2, "intermediate_dim": 16, "norm": norm, "initializer_range": 0.5, "dropout": 0.0, **options}
    )


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_normalization_is_applied_as_configured():
    layer = block("pre_feed_forward")
    answer = array(layer(X))
    x = X + array(layer.attention(X))
    np.testing.assert_allclose(
        answer, x + array(layer.feed_forward(layer.norms["feed_forward"](x))), rtol=1e-4, atol=1e-4
    )
    assert not any("attention_norm" in variable.path for variable in layer.variables)


@pytest.mark.parametrize("norm", ["post", "pre", "pre_feed_forward"])
def test_computing_first_positions_equals_computing_all(norm):
    layer = block(norm)
    whole, _ = layer(X, return_attention_scores=True)
    first, scores = layer(X, num_queries=1, return_attention_scores=True)
    assert first.shape == (2, 1, 8) and scores.shape == (2, 2, 1, 6)
    np.testing.assert_allclose(array(first), array(whole)[:, :1], rtol=1e-4, atol=1e-4)


def test_dropout_inside_the_feed_forward_network_acts_only_in_training():
    layer = block("pre", attention_dropout=0.0, intermediate_dropout=0.5)
    np.testing.assert_array_equal(array(layer(X)), array(layer(X)))
    assert (array(layer(X, training=True)) != array(layer(X, training=True))).any()


@pytest.mark.every_backend
@pytest.mark.parametrize("num_groups", [None, 2, 1])
def test_grouped_attention_of_first_positions_equals_all(num_groups):
    layer = block("pre", num_heads=4, num_groups=num_groups)
    whole, first = (keras.ops.convert_to_numpy(layer(ROWS, num_queries=count)) for count in (None, 2))
    assert first.shape == (6, 2, 8)
    np.testing.assert_allclose(first, whole[:, :2], rtol=1e-4, atol=1e-4)


def test_rows_with_dropped_blocks_are_unchanged():
    layer = block("pre", num_heads=4, stochastic_depth=0.9)
    answer = keras.ops.convert_to_numpy(layer(np.tile(ROWS, (20, 1, 1)), training=True))
    is_same = (answer == np.tile(ROWS, (20, 1, 1))).all(axis=(1, 2))
    assert 60 < is_same.sum() < 120  # of both parts, 0.81 of 120
    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(layer(ROWS)) for _ in range(2)))
