"""Multi-head attention: masks, cache and scores; equal to the layer of Keras."""

import keras
import numpy as np
import pytest

from tfattn.layers.key_value_cache import BeamCache, GrowingCache
from tfattn.layers.multi_head_attention import MultiHeadAttention
from tfattn.ops import masks

X = np.random.default_rng(0).normal(size=(2, 6, 8)).astype("float32")
REAL = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])


def layer(**arguments):
    return MultiHeadAttention(num_heads=2, initializer_range=0.5, **arguments)


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_equals_keras():
    ours = layer()
    ours.build(X.shape)
    ours.qkv.bias.assign(np.random.default_rng(1).normal(size=24))
    keras_layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)
    mask = np.broadcast_to(REAL[:, None, :], (2, 6, 6)).astype(bool)
    keras_layer.build(X.shape, X.shape)
    kernels = [part.reshape(8, 2, 4) for part in np.split(array(ours.qkv.kernel), 3, axis=1)]
    biases = [part.reshape(2, 4) for part in np.split(array(ours.qkv.bias), 3)]
    output = [array(ours.output_projection.kernel).reshape(2, 4, 8), array(ours.output_projection.bias)]
    keras_layer.set_weights([*(value for pair in zip(kernels, biases, strict=True) for value in pair), *output])
    expected, weights = keras_layer(X, X, attention_mask=mask, return_attention_scores=True)
    answer, scores = ours(X, attention_mask=masks.padding(REAL), return_attention_scores=True)
    np.testing.assert_allclose(array(answer), array(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(array(scores), array(weights), rtol=1e-5, atol=1e-6)


def test_padding_changes_nothing():
    attention = layer()
    mask = masks.padding(REAL)
    changed = X.copy()
    changed[0, 4:] = 50.0
    answer, other = array(attention(X, attention_mask=mask)), array(attention(changed, attention_mask=mask))
    np.testing.assert_allclose(other[0, :4], answer[0, :4], rtol=1e-5, atol=1e-6)
    alone = array(attention(X[:1, :4]))
    np.testing.assert_allclose(alone[0], answer[0, :4], rtol=1e-5, atol=1e-6)


def test_scores_are_scaled():
    attention, recorded = layer(scale=0.1), []
    attention(X, record=lambda *parts, values: recorded.extend(parts))
    weights, query, key = map(array, recorded)
    scores = keras.ops.softmax(0.1 * query @ key.swapaxes(-1, -2))
    np.testing.assert_allclose(weights, scores, rtol=1e-5, atol=1e-6)


def test_a_bias_may_be_a_function_of_queries_and_keys():
    attention, recorded, received = layer(), [], []
    attention(X, record=lambda *parts, values: recorded.extend(parts))

    def bias(query, key, project):
        received.extend([query, key, *project(X)])
        return keras.ops.matmul(query, keras.ops.swapaxes(key, -1, -2))

    answer = attention(X, attention_bias=bias)
    _, query, key = recorded
    for expected, part in zip((query, key, query, key), received, strict=True):
        np.testing.assert_allclose(array(part), array(expected), rtol=1e-5, atol=1e-6)
    products = keras.ops.matmul(query, keras.ops.swapaxes(key, -1, -2))
    np.testing.assert_allclose(array(answer), array(attention(X, attention_bias=products)), rtol=1e-5, atol=1e-6)
    assert np.abs(array(answer) - array(attention(X))).max() > 0.01


def test_causal_attention_ignores_later_positions():
    attention = layer(is_causal=True)
    answer = array(attention(X))
    for step in range(5):
        changed = X.copy()
        changed[:, step + 1 :] = 9.0
        np.testing.assert_allclose(
            array(attention(changed))[:, : step + 1], answer[:, : step + 1], rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("prompt", [1, 4])
def test_decoding_with_a_cache_equals_the_whole_at_once(prompt):
    attention = layer(is_causal=True)
    whole = array(attention(X))
    cache = attention.empty_beams(2, 9)
    assert [tuple(part.shape) for part in cache[:2]] == [(2, 2, 1, 9, 4)] * 2
    first, cache = attention(X[:, :prompt], attention_mask=masks.causal(prompt, 9), cache=cache)
    steps = [array(first)]
    for step in range(prompt, 6):
        answer, cache, scores = attention(
            X[:, step : step + 1],
            attention_mask=masks.causal(1, 9, step),
            cache=cache,
            return_attention_scores=True,
        )
        steps.append(array(answer))
        assert (array(scores)[..., step + 1 :] == 0).all()
    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, rtol=1e-5, atol=1e-6)


def test_rows_of_a_cache_may_be_reordered_with_their_sequences():
    attention = layer(is_causal=True)
    whole = array(attention(X[::-1]))
    _, cache = attention(X[:, :5], attention_mask=masks.causal(5, 6), cache=attention.empty_beams(2, 6))
    reordered = BeamCache(cache.keys[::-1], cache.values[::-1], cache.index)
    answer, _ = attention(X[::-1, 5:], attention_mask=masks.causal(1, 6, 5), cache=reordered)
    np.testing.assert_allclose(array(answer)[:, 0], whole[:, 5], rtol=1e-5, atol=1e-6)


def test_beams_attend_to_their_parents_in_unmoved_caches():
    attention, draw, steps = layer(is_causal=True), np.random.default_rng(2), 5
    attention.build((None, None, 8))
    written = draw.normal(size=(2, 3, 0, 8)).astype("float32")  # (B, W, T, D), of each beam all that it goes on from
    cache, origins = attention.empty_beams(2, steps, 3), np.zeros((2, 3, steps), "int32")
    for step in range(steps):
        new = draw.normal(size=(2, 3, 1, 8)).astype("float32")
        written = np.concatenate([written, new], axis=2)
        origins[:, :, step] = np.arange(3)
        mask = masks.continued(origins, step)
        answer, cache = attention(new.reshape(6, 1, 8), attention_mask=mask, cache=cache)
        whole = array(attention(written.reshape(6, step + 1, 8)))
        np.testing.assert_allclose(array(answer)[:, 0], whole[:, -1], rtol=1e-5, atol=1e-6)
        beams = draw.integers(0, 3, size=(2, 3))[..., None]
        origins = np.take_along_axis(origins, beams, axis=1)
        written = np.take_along_axis(written, beams[..., None], axis=1)


def test_rotary_scores_depend_on_distances():
    attention = layer(is_causal=True)
    near = array(attention(X, positions=np.arange(6)))
    np.testing.assert_allclose(array(attention(X, positions=np.arange(6) + 9)), near, rtol=1e-4, atol=1e-5)
    assert np.abs(array(attention(X)) - near).max() > 1e-2
    first, cache = attention(
        X[:, :4], attention_mask=masks.causal(4, 6), cache=attention.empty_beams(2, 6), positions=np.arange(4)
    )
    second, _ = attention(X[:, 4:], attention_mask=masks.causal(2, 6, 4), cache=cache, positions=np.arange(4, 6))
    answer = np.concatenate([array(first), array(second)], axis=1)
    np.testing.assert_allclose(answer, near, rtol=1e-5, atol=1e-6)


def test_rows_may_have_different_positions():
    attention = layer()
    positions = np.array([[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]])
    answer = array(attention(X, positions=positions))
    for row in range(2):
        alone = array(attention(X[row : row + 1], positions=positions[row]))
        np.testing.assert_allclose(answer[row], alone[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_causal", [False, True])
def test_computing_first_positions_equals_computing_all(is_causal):
    attention = layer(is_causal=is_causal)
    mask = masks.padding(REAL)
    whole, all_scores = attention(X, attention_mask=mask, return_attention_scores=True)
    first, scores = attention(X, attention_mask=mask, num_queries=2, return_attention_scores=True)
    assert first.shape == (2, 2, 8) and scores.shape == (2, 2, 2, 6)
    np.testing.assert_allclose(array(first), array(whole)[:, :2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(array(scores), array(all_scores)[:, :, :2], rtol=1e-5, atol=1e-6)


def test_dropout_acts_only_in_training():
    attention = layer(dropout=0.5)
    np.testing.assert_array_equal(array(attention(X)), array(attention(X)))
    assert (array(attention(X, training=True)) != array(attention(X, training=True))).any()


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="num_heads: expected a divisor of the width 8, received 3"):
        MultiHeadAttention(num_heads=3).build((1, 5, 8))


@pytest.mark.parametrize("num_groups", [2, 1])
def test_a_growing_cache_gives_what_reading_all_at_once_gives(num_groups):
    attention = layer(num_groups=num_groups, qk_norm=True)
    whole = array(attention(X, attention_mask=np.tri(6, dtype=bool), positions=np.arange(6)))
    nothing = np.zeros((2, num_groups, 0, 4), "float32")
    cache, steps = GrowingCache((nothing, nothing), (nothing, nothing)), []
    for begin, end in ((0, 3), (3, 4), (4, 6)):
        seen = np.tri(end, dtype=bool)[begin:]
        new = X[:, begin:end]
        answer, cache = attention(new, attention_mask=seen, positions=np.arange(begin, end), cache=cache)
        if begin == 3:  # what is recent becomes past
            cache = GrowingCache(cache.recent, (nothing, nothing))
        steps.append(array(answer))
    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, rtol=1e-5, atol=1e-5)


def test_a_bias_is_added_to_the_scores_of_each_head():
    attention, distances = layer(), -np.abs(np.arange(6)[:, None] - np.arange(6)).astype("float32")
    slopes = np.array([0.5, 0.25], "float32")[:, None, None]
    _, scores = attention(X, return_attention_scores=True)
    _, biased = attention(X, attention_bias=slopes * distances, return_attention_scores=True)  # ALiBi
    expected = array(scores) * np.exp(slopes * distances)
    np.testing.assert_allclose(array(biased), expected / expected.sum(-1, keepdims=True), rtol=1e-4, atol=1e-5)
