"""Bidirectional LSTM encoders: separate texts of a pair, attention between them, and an ELMo as input."""

import keras
import numpy as np
import pytest

from tests.contracts.encoder import check_encoder
from tests.models.test_elmo import FEATURES as SPELLED
from tests.models.test_elmo import REAL, elmo
from tfattn.errors import ConfigError
from tfattn.models.bert import Bert
from tfattn.models.bilstm import Bilstm

SIZES = {"vocabulary_size": 20, "hidden_dim": 8, "embedding_dim": 6, "dropout": 0.0}
DRAW = np.random.default_rng(0)
SEGMENTS = np.array([[0, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], "int32")
FEATURES = {"token_ids": DRAW.integers(1, 20, size=(3, 5)).astype("int32"), **SPELLED, "segment_ids": SEGMENTS}


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def sequence(model, features):
    return array(model(features)["sequence_output"])


@pytest.mark.parametrize(
    "options",
    [pytest.param({}, marks=pytest.mark.every_backend), {"attention": True}, {"num_layers": 1, "elmo": True}],
    ids=str,
)
def test_contract(options):
    options = {**options, **({"elmo": elmo()} if "elmo" in options else {})}
    model = Bilstm(**{**SIZES, **options})
    check_encoder(model, FEATURES)
    check_encoder(model, {name: value for name, value in FEATURES.items() if name != "segment_ids"})


def test_texts_of_a_pair_interact_only_by_attention():
    other = {**FEATURES, "token_ids": FEATURES["token_ids"].copy()}
    other["token_ids"][1, 4] = 0 if FEATURES["token_ids"][1, 4] else 1  # of the second text
    for attention in (False, True):
        model = Bilstm(**SIZES, attention=attention)
        difference = np.abs(sequence(model, other) - sequence(model, FEATURES))[1, :3].max()
        assert (difference > 1e-4) == attention


def test_a_second_text_is_compared_with_the_first():
    model = Bilstm(**SIZES)
    x = array(model(FEATURES)["sequence_output"])
    u, v = x[1, :3].max(axis=0), x[1, 3:].max(axis=0)
    both = np.concatenate([u, v, np.abs(u - v), u * v])
    dense = model.pooler.dense
    expected = np.tanh(both @ array(dense.kernel) + array(dense.bias))
    np.testing.assert_allclose(array(model(FEATURES)["pooled_output"])[1], expected, atol=1e-5)


def test_a_frozen_elmo_is_mixed_by_learned_weights():
    below = elmo()
    model = Bilstm(**{**SIZES, "embedding_dim": None}, elmo=below)
    assert not below.trainable_variables and model.mix.trainable_variables
    read = [array(x) for x in below(FEATURES)["hidden_states"]]
    model.mix.scalars.assign([1.0, 0.0, -1.0])
    model.mix.scale.assign([2.0])
    weights = np.exp([1.0, 0.0, -1.0]) / np.exp([1.0, 0.0, -1.0]).sum()
    expected = 2 * sum(weight * x for weight, x in zip(weights, read, strict=True))
    np.testing.assert_allclose(array(model.mix(read)), expected, atol=1e-5)
    assert Bilstm(**SIZES, elmo=elmo(), trains_elmo=True).elmo.trainable_variables


def test_layers_are_normalized_per_word():
    model = Bilstm(**SIZES, elmo=elmo(), normalizes_elmo=True)
    mixed = array(model.mix([DRAW.normal(3, 5, size=(2, 4, 8)).astype("float32")] * 3))
    np.testing.assert_allclose(mixed.mean(axis=-1), 0, atol=1e-5)
    np.testing.assert_allclose(mixed.std(axis=-1), 1, atol=1e-3)


def test_word_vectors_may_be_frozen():
    model = Bilstm(**SIZES, trains_embeddings=False)
    assert not model.token_embeddings.trainable_variables
    assert REAL.shape == FEATURES["token_ids"].shape


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"hidden_dim": 7}, ("hidden_dim", "an even number")),
        ({"embedding_dim": None}, ("embedding_dim", "a width, or an `elmo`")),
        ({"elmo": "bert"}, ("elmo", "an elmo")),
    ],
)
def test_invalid_settings_are_refused_by_the_model(options, told):
    if "elmo" in options:
        options = {"elmo": Bert(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=1, intermediate_dim=8)}
    with pytest.raises(ConfigError) as caught:
        Bilstm(**{**SIZES, **options})
    assert (caught.value.key, caught.value.expected) == told
