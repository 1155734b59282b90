"""The encoder block: its three ways to normalize, and the first positions alone."""

import keras
import numpy as np
import pytest

from tfattn.layers.encoder_block import EncoderBlock

X = np.random.default_rng(0).normal(3.0, 2.0, size=(2, 6, 8)).astype("float32")


def block(norm, **options):
    return EncoderBlock(
        **{"num_heads": 2, "intermediate_dim": 16, "norm": norm, "initializer_range": 0.5, "dropout": 0.0, **options}
    )


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_the_first_part_reads_x_as_it_is_and_the_second_what_was_normalized():
    layer = block("pre_feed_forward")
    answer = array(layer(X))
    x = X + array(layer.attention(X))
    np.testing.assert_allclose(answer, x + array(layer.feed_forward(layer.feed_forward_norm(x))), rtol=1e-4, atol=1e-4)
    assert not any("attention_norm" in variable.path for variable in layer.variables)


@pytest.mark.parametrize("norm", ["post", "pre", "pre_feed_forward"])
def test_the_first_positions_alone_are_answered_as_among_all(norm):
    layer = block(norm)
    whole, _ = layer(X, return_attention_scores=True)
    first, scores = layer(X, num_queries=1, return_attention_scores=True)
    assert first.shape == (2, 1, 8) and scores.shape == (2, 2, 1, 6)
    np.testing.assert_allclose(array(first), array(whole)[:, :1], rtol=1e-4, atol=1e-4)


def test_dropout_inside_the_feed_forward_network_acts_in_training_alone():
    layer = block("pre", attention_dropout=0.0, intermediate_dropout=0.5)
    np.testing.assert_array_equal(array(layer(X)), array(layer(X)))
    assert (array(layer(X, training=True)) != array(layer(X, training=True))).any()
