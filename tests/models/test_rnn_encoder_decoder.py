"""The recurrent encoder-decoder: the contract with every option, and equality with its parts."""

import keras
import numpy as np
import pytest

from tests.contracts.encoder_decoder import check_encoder_decoder
from tfattn.config.read import read_yaml
from tfattn.errors import ConfigError
from tfattn.models.rnn_encoder_decoder import WIRINGS, RnnEncoderDecoder

SIZES = {
    "vocabulary_size": 30,
    "target_vocabulary_size": 30,
    "hidden_dim": 16,
    "embedding_dim": 12,
    "max_sequence_length": 12,
}
DRAW = np.random.default_rng(0)
REAL = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], bool)
FEATURES = {
    "token_ids": DRAW.integers(1, 30, size=(2, 6)).astype("int32") * REAL,
    "padding_mask": REAL,
    "target_ids": DRAW.integers(1, 30, size=(2, 5)).astype("int32"),
}


def build(**options):
    return RnnEncoderDecoder(**{**SIZES, "dropout": 0.0, **options})


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def logits(model, features=FEATURES, **options):
    return array(model(features, **options)["logits"])


VARIANTS = [
    {"wiring": "bahdanau", "score": "additive", "share_embeddings": "all"},
    {"wiring": "luong", "score": "general", "encoder_dim": 10, "share_embeddings": "none"},
    {"wiring": "input_feeding", "score": "dot"},
    {"wiring": "plain", "cell": "lstm", "num_layers": 2, "target_vocabulary_size": 23},
]


@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: options["wiring"])
def test_contract(options):
    check_encoder_decoder(RnnEncoderDecoder(**{**SIZES, **options}))


def test_a_model_without_attention_has_no_alignment_weights():
    assert [build(wiring=wiring).aligns for wiring in WIRINGS] == [True, True, True, False]


def test_a_model_without_attention_reads_the_source_as_one_vector():
    model = build(wiring="plain")
    memory = model.encode(FEATURES)
    assert set(memory) == {"padding_mask", "summary"}
    assert memory["summary"].shape == (2, SIZES["hidden_dim"])


def test_logits_are_products_with_the_embeddings_and_a_bias():
    model = build()
    model.output_bias.assign(DRAW.normal(size=30))
    memory = model.encode(FEATURES)
    vectors = model.target_token(FEATURES["target_ids"][:, :-1]) * np.sqrt(12.0)
    read_out = array(model.decoder(vectors, memory))
    expected = read_out @ array(model.target_token.embeddings).T + array(model.output_bias)
    np.testing.assert_allclose(logits(model), expected, rtol=1e-5, atol=1e-5)


def test_encoder_layers_are_stacked():
    model = build(num_layers=2)
    below = model.encoder[0](model.source_token(FEATURES["token_ids"]) * np.sqrt(12.0), REAL)
    annotations = array(model.encoder[1](below, REAL))
    memory = {name: array(value) for name, value in model.encode(FEATURES).items()}
    np.testing.assert_allclose(memory["annotations"], annotations, atol=1e-6)
    half = SIZES["hidden_dim"] // 2
    np.testing.assert_allclose(memory["summary"][0], [*annotations[0, 3, :half], *annotations[0, 0, half:]], atol=1e-6)


@pytest.mark.parametrize("wiring", WIRINGS)
def test_dropout_acts_only_in_training(wiring):
    model = build(wiring=wiring, dropout=0.3)
    np.testing.assert_array_equal(logits(model), logits(model))
    assert (logits(model, training=True) != logits(model, training=True)).any()


def test_shared_embeddings_are_one_table():
    number = {share: build(share_embeddings=share).count_params() for share in ("all", "target", "none")}
    table = SIZES["vocabulary_size"] * SIZES["embedding_dim"]
    assert number["none"] - number["target"] == number["target"] - number["all"] == table


def test_token_vectors_start_at_the_size_of_states():
    model = build(vocabulary_size=400, embedding_dim=64)
    assert 0.8 < array(model.source_token.embeddings).std() * 8 < 1.05


def test_names_are_stable_readable_and_complete():
    first, second = (build(num_layers=2, dropout=0.1) for _ in range(2))
    paths = [v.path.removeprefix("rnn_encoder_decoder/") for v in first.variables]
    assert paths == [v.path.removeprefix("rnn_encoder_decoder/") for v in second.variables]
    assert {
        "source_token/embeddings",
        "target_token/embeddings",
        "encoder_0/forward/input/kernel",
        "encoder_1/backward/cell/recurrent_kernel",
        "decoder/initial_state/kernel",
        "decoder/layer_1/cell/recurrent_bias",
        "decoder/alignment/vector",
        "decoder/context/kernel",
        "decoder/readout/kernel",
        "output_bias",
    } <= set(paths)


def test_depth_groups_start_with_tables_and_end_with_the_output():
    groups = build(num_layers=2, share_embeddings="none").depth_groups()
    names = [{v.path.split("/")[1] for v in group} for group in groups]
    assert names == [
        {"source_token", "target_token"},
        {"encoder_0"},
        {"encoder_1"},
        {"decoder", "output", "output_bias"},
    ]


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        ({"encoder_dim": 7}, "encoder_dim", "expected an even number .* received 7"),
        ({"hidden_dim": 15}, "encoder_dim", "expected an even number .hidden_dim, if not given., received 15"),
        (
            {"score": "dot", "encoder_dim": 32},
            "encoder_dim",
            "expected 16, as hidden_dim, or `score: general`, received 32",
        ),
        (
            {"share_embeddings": "all", "target_vocabulary_size": 31},
            "share_embeddings",
            "expected one joint vocabulary .* received 30 source tokens and 31 target tokens",
        ),
    ],
)
def test_mismatched_sizes_are_refused(options, key, message):
    with pytest.raises(ConfigError, match=message) as caught:
        build(**options)
    assert caught.value.key == key


@pytest.mark.parametrize(("size", "millions"), [("attention_tiny", 0.3), ("attention_small", 5.9)])
def test_model_sizes_are_as_documented(size, millions, request):
    path = request.config.rootpath / "configs" / "models" / f"rnn_{size}.yaml"
    options = {name: value for name, value in read_yaml(path).values.items() if name != "name"}
    model = RnnEncoderDecoder(vocabulary_size=8000, target_vocabulary_size=8000, **options)
    assert round(model.count_params() / 1e6, 1) == millions
