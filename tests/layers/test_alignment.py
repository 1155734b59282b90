"""Alignment: formulas of the scores, independence of padding and of the number of queries."""

import keras
import numpy as np
import pytest

from tfattn.layers.alignment import Alignment

DRAW = np.random.default_rng(0)
STATES = DRAW.normal(size=(2, 3, 6)).astype("float32")
REAL = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
SCORES = ["additive", "concat", "dot", "general"]


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def annotations(score):
    return np.random.default_rng(1).normal(size=(2, 5, 6 if score == "dot" else 4)).astype("float32")


def build(score):
    layer = Alignment(score=score, name="alignment")
    layer.build(STATES.shape, annotations(score).shape)
    return layer


def gather(layer, states, source, mask=None):
    means, weights = layer(states, layer.keys_of(source), source, mask)
    return array(means), array(weights)


def score_by_hand(layer, state, annotation):
    """One state, one annotation, as the papers write it."""
    weights = {v.path.removeprefix("alignment/"): array(v).astype("float64") for v in layer.weights}
    if layer.score == "additive":
        return weights["vector"] @ np.tanh(weights["query"].T @ state + weights["key"].T @ annotation)
    if layer.score == "concat":
        both = np.concatenate([weights["query"].T, weights["key"].T], axis=1)
        return weights["vector"] @ np.tanh(both @ np.concatenate([state, annotation]))
    return state @ annotation if layer.score == "dot" else state @ weights["key"].T @ annotation


@pytest.mark.parametrize("score", SCORES)
def test_equals_the_formula(score):
    layer, source = build(score), annotations(score)
    means, weights = gather(layer, STATES, source, REAL)
    for row in range(2):
        for query in range(3):
            scores = np.array([score_by_hand(layer, STATES[row, query], h) for h in source[row][REAL[row]]])
            expected = np.exp(scores) / np.exp(scores).sum()
            np.testing.assert_allclose(weights[row, query][REAL[row]], expected, rtol=1e-4)
            np.testing.assert_allclose(means[row, query], expected @ source[row][REAL[row]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("score", SCORES)
def test_padding_has_weight_0_and_changes_nothing(score):
    layer, source = build(score), annotations(score)
    means, weights = gather(layer, STATES, source, REAL)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)
    assert (weights[0, :, 3:] == 0).all()
    changed = np.where(REAL[..., None], source, 9.0).astype("float32")
    np.testing.assert_array_equal(gather(layer, STATES, changed, REAL)[0], means)


@pytest.mark.parametrize("score", SCORES)
def test_many_queries_equal_single_queries(score):
    layer, source = build(score), annotations(score)
    together = gather(layer, STATES, source, REAL)
    for query in range(3):
        alone = gather(layer, STATES[:, query : query + 1], source, REAL)
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_allclose(part[:, 0], whole[:, query], rtol=1e-5, atol=1e-6)


def test_in_bfloat16_weights_are_float32_and_about_the_same():
    layer, source = build("additive"), annotations("additive")
    half = Alignment(dtype="mixed_bfloat16")
    half.build(STATES.shape, source.shape)
    half.set_weights(layer.get_weights())
    answer = gather(half, STATES, source, REAL)
    for value, expected in zip(answer, gather(layer, STATES, source, REAL), strict=True):
        assert value.dtype == "float32"
        np.testing.assert_allclose(value, expected, atol=0.03)


def test_configuration_round_trips():
    assert Alignment.from_config(build("general").get_config()).score == "general"


def test_dot_scores_need_equal_widths():
    with pytest.raises(ValueError, match="score dot: expected annotations of the width 6 of the states, received 4"):
        Alignment(score="dot").build((2, 3, 6), (2, 5, 4))
