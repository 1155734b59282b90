"""The decoder block: normalization, causality, source and cache."""

import keras
import numpy as np
import pytest

from tfattn.layers.decoder_block import DecoderBlock
from tfattn.ops import masks

DRAW = np.random.default_rng(0)
X = DRAW.normal(3.0, 2.0, size=(2, 5, 8)).astype("float32")
SOURCE = DRAW.normal(size=(2, 6, 8)).astype("float32")
MASK = masks.padding(np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]))


def block(norm="post", **options):
    made = DecoderBlock(**{"num_heads": 2, "intermediate_dim": 16, "initializer_range": 0.5, "norm": norm, **options})
    made.build((None, None, 8))
    return made


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_post_norm_normalizes_each_sum_and_pre_norm_what_each_part_reads(norm):
    layer, x = block(norm), X
    memory = layer.memory_of(SOURCE)
    options = {"cross_attention": {"memory": memory, "attention_mask": MASK}}
    for part in ("self_attention", "cross_attention", "feed_forward"):
        read = x if norm == "post" else layer.norms[part](x)
        x = x + array(getattr(layer, part)(read, **options.get(part, {})))
        x = array(layer.norms[part](x)) if norm == "post" else x
    np.testing.assert_allclose(array(layer(X, memory, source_mask=MASK)), x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_positions_are_causal_and_depend_on_the_source(norm):
    layer = block(norm)
    memory = layer.memory_of(SOURCE)
    answer = array(layer(X, memory))
    changed = X.copy()
    changed[:, 3:] = 9.0
    np.testing.assert_allclose(array(layer(changed, memory))[:, :3], answer[:, :3], rtol=1e-4, atol=1e-4)
    assert np.abs(array(layer(X, layer.memory_of(-SOURCE))) - answer).max() > 0.1


@pytest.mark.parametrize("positions", [None, np.arange(5)])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_decoding_with_a_cache_equals_the_whole_at_once(norm, positions):
    layer = block(norm)
    memory = layer.memory_of(SOURCE)
    whole, all_scores = layer(X, memory, source_mask=MASK, positions=positions, return_attention_scores=True)
    assert tuple(all_scores.shape) == (2, 2, 5, 6)
    cache = layer.self_attention.empty_beams(2, 7)
    for step in range(5):
        answer, cache, scores = layer(
            X[:, step : step + 1],
            memory,
            source_mask=MASK,
            cache=cache,
            beam_mask=masks.causal(1, 7, step),
            positions=None if positions is None else positions[step : step + 1],
            return_attention_scores=True,
        )
        np.testing.assert_allclose(array(answer)[:, 0], array(whole)[:, step], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(array(scores)[:, :, 0], array(all_scores)[:, :, step], rtol=1e-4, atol=1e-5)


def test_dropout_acts_only_in_training():
    layer = block(dropout=0.5)
    memory = layer.memory_of(SOURCE)
    np.testing.assert_array_equal(array(layer(X, memory)), array(layer(X, memory)))
    assert (array(layer(X, memory, training=True)) != array(layer(X, memory, training=True))).any()
