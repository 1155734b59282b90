"""Attention records of models, and given token vectors."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.contracts.logits import array, at_once
from tfattn.features import (
    CATEGORY_IDS,
    LOGITS,
    NUMERIC,
    PADDING_MASK,
    POOLED_OUTPUT,
    SEQUENCE_OUTPUT,
    TARGET_IDS,
    TOKEN_IDS,
    TOKEN_VECTORS,
)
from tfattn.models.bert import Bert
from tfattn.models.deberta import Deberta
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.models.gpt import Gpt
from tfattn.models.modern_bert import ModernBert
from tfattn.models.rnn_encoder_decoder import RnnEncoderDecoder
from tfattn.models.transformer import Transformer

SMALL = {"vocabulary_size": 20, "hidden_dim": 8, "num_layers": 2, "num_heads": 4, "intermediate_dim": 16}
BOTH = {"vocabulary_size": 20, "target_vocabulary_size": 18}
LENGTHS = np.array([6, 4])
REAL = np.arange(6) < LENGTHS[:, None]
TEXT = {TOKEN_IDS: (np.arange(3, 15).reshape(2, 6) * REAL).astype("int32"), PADDING_MASK: REAL}
PAIR = {**TEXT, TARGET_IDS: np.arange(2, 12).reshape(2, 5).astype("int32")}
RNN = {**BOTH, "hidden_dim": 8, "embedding_dim": 6}
ROW = {NUMERIC: np.ones((2, 3), "float32"), CATEGORY_IDS: np.ones((2, 2), "int32")}


def of_row(**options):
    return FeatureTokenizerTransformer(
        num_numeric=3, category_counts=[4, 9], hidden_dim=8, num_heads=4, num_layers=2, **options
    )


# The model, what it reads, its answer, and the shape (L, H, T, S) of each part.
MODELS = {
    "bert": (lambda: Bert(**SMALL), TEXT, SEQUENCE_OUTPUT, {"encoder": (2, 4, 6, 6)}),
    "modern_bert": (lambda: ModernBert(**SMALL), TEXT, SEQUENCE_OUTPUT, {"encoder": (2, 4, 6, 6)}),
    "deberta": (lambda: Deberta(**SMALL), TEXT, SEQUENCE_OUTPUT, {"encoder": (2, 4, 6, 6)}),
    "gpt": (lambda: Gpt(**SMALL), TEXT, LOGITS, {"decoder": (2, 4, 6, 6)}),
    "grouped": (
        lambda: Gpt(**SMALL, num_key_value_heads=2, positions="rotary", qk_norm=True),
        TEXT,
        LOGITS,
        {"decoder": (2, 4, 6, 6)},
    ),
    "transformer": (
        lambda: Transformer(**SMALL, target_vocabulary_size=18, decoder_layers=1),
        PAIR,
        LOGITS,
        {"encoder": (2, 4, 6, 6), "decoder": (1, 4, 4, 4), "cross": (1, 4, 4, 6)},
    ),
    "bahdanau": (lambda: RnnEncoderDecoder(**RNN, num_layers=2), PAIR, LOGITS, {"cross": (1, 1, 4, 6)}),
    "lstm": (lambda: RnnEncoderDecoder(**RNN, cell="lstm"), PAIR, LOGITS, {"cross": (1, 1, 4, 6)}),
    "luong": (lambda: RnnEncoderDecoder(**RNN, wiring="luong", score="dot"), PAIR, LOGITS, {"cross": (1, 1, 4, 6)}),
    "input_feeding": (lambda: RnnEncoderDecoder(**RNN, wiring="input_feeding"), PAIR, LOGITS, {"cross": (1, 1, 4, 6)}),
    "columns": (of_row, ROW, POOLED_OUTPUT, {"encoder": (2, 4, 6, 6)}),
}


# Models of which no other test runs with JAX.
WITH_JAX = ("transformer", "bahdanau", "columns")


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.every_backend] * (name in WITH_JAX)) for name in MODELS],
)
def case(request):
    keras.utils.set_random_seed(0)
    make, features, output, shapes = MODELS[request.param]
    return make(), features, output, shapes


def test_attention_rows_of_each_layer_and_head_sum_to_1(case):
    model, features, _, shapes = case
    told = at_once(model.attention)(features)
    assert {part: tuple(one.weights.shape)[1:] for part, one in told.items()} == shapes
    for one in told.values():
        np.testing.assert_allclose(array(one.weights).sum(-1), 1.0, atol=1e-5)


def test_recording_attention_changes_nothing(case):
    model, features, output, _ = case
    before = array(at_once(model)(features)[output])
    at_once(model.attention)(features)
    np.testing.assert_array_equal(array(at_once(model)(features)[output]), before)


def test_recorded_weights_are_the_softmax_of_queries_and_keys(case):
    model, features, _, _ = case
    for part, (weights, queries, keys) in at_once(model.attention)(features).items():
        if queries is None:
            assert not model.has_vectors
            continue
        weights = array(weights)
        scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / queries.shape[-1] ** 0.5
        hidden = weights == 0.0
        assert hidden.any() == (part == "decoder" or PADDING_MASK in features)
        np.testing.assert_allclose(array(ops.softmax(ops.where(hidden, -1e9, scores))), weights, atol=1e-5)


def test_masked_positions_have_weight_0(case):
    model, features, _, _ = case
    for part, one in at_once(model.attention)(features).items():
        weights = array(one.weights)
        if part == "decoder":
            assert not np.triu(weights, 1).any()
        elif PADDING_MASK in features:
            assert not weights[1, ..., LENGTHS[1] :].any()


def test_given_vectors_replace_token_vectors(case):
    model, features, output, _ = case
    vectors = at_once(model.token_vectors)(features)
    call = at_once(model)
    expected = array(call(features)[output])
    given = array(call({**features, TOKEN_VECTORS: vectors})[output])
    np.testing.assert_allclose(given, expected, atol=1e-6)
    other = array(call({**features, TOKEN_VECTORS: vectors * 0.0})[output])
    assert np.abs(other - expected).max() > 1e-4


@pytest.mark.parametrize("wiring", ["bahdanau", "luong", "input_feeding"])
def test_a_recurrent_decoder_records_its_alignments(wiring):
    keras.utils.set_random_seed(1)
    model = RnnEncoderDecoder(**RNN, wiring=wiring)
    memory = model.encode(PAIR)
    state, expected = model.empty_state(memory, 4), []
    for index in range(4):
        _, state, alignment = model.step(PAIR[TARGET_IDS][:, index], index, memory, state)
        expected.append(array(alignment))
    told = array(model.attention(PAIR)["cross"].weights)[:, 0, 0]
    np.testing.assert_allclose(told, np.stack(expected, axis=1), atol=1e-5)


def test_a_model_without_attention_records_nothing():
    assert RnnEncoderDecoder(**RNN, wiring="plain").attention(PAIR) == {}
