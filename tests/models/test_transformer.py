"""The Transformer: equal to the formulas, the encoder-decoder contract, with stable weight names."""

import keras
import numpy as np
import pytest

from tests.contracts.encoder_decoder import check_encoder_decoder
from tfattn.config.read import read_yaml
from tfattn.errors import ConfigError
from tfattn.models.transformer import Transformer

SIZES = {
    "vocabulary_size": 30,
    "target_vocabulary_size": 30,
    "hidden_dim": 16,
    "num_layers": 2,
    "num_heads": 4,
    "intermediate_dim": 32,
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
    """A model whose weights are all drawn, so that none is 0 or 1."""
    model = Transformer(**{**SIZES, "dropout": 0.0, **options})
    draw = np.random.default_rng(1)
    model.set_weights([draw.normal(0, 0.3, size=weight.shape) for weight in model.weights])
    return model


def logits(model, features=FEATURES, **options):
    return keras.ops.convert_to_numpy(model(features, **options)["logits"])


def by_hand(model, features):
    """The formulas of the papers in float64, with numpy alone."""
    weights = {v.path.removeprefix("transformer/"): keras.ops.convert_to_numpy(v) for v in model.weights}
    weights = {name: value.astype("float64") for name, value in weights.items()}
    width, heads = model.hidden_dim, model.num_heads

    def dense(x, name):
        return x @ weights[f"{name}/kernel"] + weights.get(f"{name}/bias", 0)

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + model.layer_norm_epsilon)
        return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]

    def angles(length, size):
        return np.arange(length)[:, None] / 10000 ** (np.arange(0, size, 2) / size)

    def turned(x):
        if model.positions != "rotary":
            return x
        turns = np.exp(1j * angles(x.shape[2], width // heads))
        points = (x[..., : width // heads // 2] + 1j * x[..., width // heads // 2 :]) * turns
        return np.concatenate([points.real, points.imag], axis=-1)

    def split(x, parts):
        return np.moveaxis(x.reshape(*x.shape[:2], parts, heads, -1), (2, 3), (0, 2))

    def attention(query, key, value, visible, name, bias=0.0):
        scores = np.einsum("bhtk,bhsk->bhts", query, key) / np.sqrt(query.shape[-1]) + bias
        scores = np.exp(np.where(visible, scores, -np.inf))
        means = np.einsum("bhts,bhsk->bthk", scores / scores.sum(-1, keepdims=True), value)
        return dense(means.reshape(*means.shape[:2], -1), f"{name}/output")

    def bias(length, side):
        if model.positions != "relative":
            return 0.0
        distances = np.arange(length)[:, None] - np.arange(length)
        # 8 ranges up to 9 positions: of earlier keys alone, or 4 in each direction. Single distances are 0 to 3, or 0
        # and 1; the others are 4 to 5, 6 to 7 and so on, or 2 to 4 and from 5.
        after = {0: 0, 1: 1, 2: 2, 3: 2, 4: 2, 5: 3}
        bucket = np.vectorize(lambda d: max(d, 0) if side == "target" else after[abs(d)] + 4 * (d < 0))
        return np.moveaxis(weights[f"{side}_bias/table/embeddings"][bucket(distances)], -1, 0)

    def self_attention(x, visible, name):
        query, key, value = split(dense(x, f"{name}/qkv"), 3)
        side = "source" if name.startswith("encoder") else "target"
        return attention(turned(query), turned(key), value, visible, name, bias(x.shape[1], side))

    def cross_attention(x, source, visible, name):
        (query,), (key, value) = split(dense(x, f"{name}/query"), 1), split(dense(source, f"{name}/key_value"), 2)
        return attention(query, key, value, visible, name)

    def feed_forward(x, name):
        return dense(np.maximum(dense(x, f"{name}/intermediate"), 0), f"{name}/output")

    def add(x, part, name):
        return norm(x + part(x), name) if model.norm == "post" else x + part(norm(x, name))

    def embedded(ids, side, table):
        x = weights[f"{table}/embeddings"][ids] * np.sqrt(width)
        if model.positions == "sinusoidal":
            pairs = angles(ids.shape[1], width)
            x = x + np.stack([np.sin(pairs), np.cos(pairs)], axis=-1).reshape(ids.shape[1], width)
        elif model.positions == "sinusoidal_halves":
            x = x + np.concatenate([np.sin(angles(ids.shape[1], width)), np.cos(angles(ids.shape[1], width))], axis=-1)
        elif model.positions == "learned":
            x = x + weights[f"{side}_positions/position/embeddings"][: ids.shape[1]]
        return x

    tables = {
        "all": ("token", "token", "token"),
        "target": ("source_token", "target_token", "target_token"),
        "inputs": ("token", "token", "output"),
        "none": ("source_token", "target_token", "output"),
    }[model.share_embeddings]
    seen = features["padding_mask"][:, None, None]
    x = embedded(features["token_ids"], "source", tables[0])
    for index in range(model.num_layers):
        block = f"encoder_{index}"
        x = add(x, lambda x, b=block: self_attention(x, seen, f"{b}/attention"), f"{block}/attention_norm")
        x = add(x, lambda x, b=block: feed_forward(x, f"{b}/feed_forward"), f"{block}/feed_forward_norm")
    source = x if model.norm == "post" else norm(x, "encoder_norm")
    x = embedded(features["target_ids"][:, :-1], "target", tables[1])
    past = np.tril(np.ones((x.shape[1], x.shape[1]), bool))
    for index in range(model.decoder_layers or model.num_layers):
        block = f"decoder_{index}"
        parts = {
            "self_attention": lambda x, b=block: self_attention(x, past, f"{b}/self_attention"),
            "cross_attention": lambda x, b=block: cross_attention(x, source, seen, f"{b}/cross_attention"),
            "feed_forward": lambda x, b=block: feed_forward(x, f"{b}/feed_forward"),
        }
        for name, part in parts.items():
            x = add(x, part, f"{block}/{name}_norm")
    x = x if model.norm == "post" else norm(x, "decoder_norm")
    return x @ weights[f"{tables[2]}/embeddings"].T + weights.get("output_bias", 0)


VARIANTS = [
    {"norm": "post", "positions": "sinusoidal", "share_embeddings": "all"},
    {"norm": "pre", "positions": "rotary", "share_embeddings": "target", "decoder_layers": 1},
    {"norm": "post", "positions": "learned", "share_embeddings": "none", "target_vocabulary_size": 23},
    {"norm": "post", "positions": "sinusoidal_halves", "share_embeddings": "all", "output_bias": True},
    {
        "norm": "pre",
        "positions": "relative",
        "share_embeddings": "inputs",
        "head_dim": 3,
        "use_bias": False,
        "position_buckets": 8,
        "max_relative_positions": 9,
    },
]


def name_of(options):
    return f"{options['norm']}-{options['positions']}-{options['share_embeddings']}"


@pytest.mark.parametrize("options", VARIANTS, ids=name_of)
def test_equals_the_formulas(options):
    model = build(**options)
    features = {**FEATURES, "target_ids": FEATURES["target_ids"] % model.target_vocabulary_size}
    expected = by_hand(model, features)
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(logits(model, features), expected, atol=1e-4)


# Two have several blocks, which must not share a cache.
@pytest.mark.parametrize(
    "options", [{"num_layers": 1 if number > 1 else 2} | one for number, one in enumerate(VARIANTS)], ids=name_of
)
def test_contract(options):
    check_encoder_decoder(Transformer(**SIZES | options))


def test_the_alignment_is_the_mean_over_heads_of_the_block_below_the_last():
    model = build(num_layers=3)
    memory = model.encode(FEATURES)
    target_ids, indices = FEATURES["target_ids"][:, :2], np.arange(2)
    x = model.target_positions(model.target_token(target_ids), indices)
    for index, block in enumerate(model.decoder[:2]):
        keys_and_values = memory[f"keys_{index}"], memory[f"values_{index}"]
        x, scores = block(x, keys_and_values, source_mask=REAL[:, None, None], return_attention_scores=True)
    state = model.empty_state(memory, 4)
    for index in indices:
        _, state, alignment = model.step(target_ids[:, index], index, memory, state)
    expected = keras.ops.convert_to_numpy(scores)[:, :, 1].mean(axis=1)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(alignment), expected, atol=1e-5)


def test_dropout_acts_only_in_training():
    model = build(dropout=0.3, attention_dropout=0.3)
    np.testing.assert_array_equal(logits(model), logits(model))
    assert (logits(model, training=True) != logits(model, training=True)).any()


def test_shared_embeddings_are_one_table():
    number = {share: Transformer(**SIZES, share_embeddings=share).count_params() for share in ("all", "target", "none")}
    table = SIZES["vocabulary_size"] * SIZES["hidden_dim"]
    assert number["none"] - number["target"] == number["target"] - number["all"] == table


def test_embeddings_start_at_the_size_of_the_positions():
    model = Transformer(**{**SIZES, "vocabulary_size": 400, "hidden_dim": 64})
    table = keras.ops.convert_to_numpy(model.source_token.embeddings)
    assert 0.8 < table.std() * 8 < 1.05


def test_names_are_stable_readable_and_complete():
    first, second = (Transformer(**SIZES, norm="pre") for _ in range(2))
    paths = [v.path for v in first.variables]
    assert paths == [v.path for v in second.variables]
    assert {
        "transformer/source_token/embeddings",
        "transformer/target_token/embeddings",
        "transformer/encoder_0/attention/qkv/kernel",
        "transformer/encoder_norm/gamma",
        "transformer/decoder_1/self_attention/qkv/bias",
        "transformer/decoder_1/cross_attention/key_value/kernel",
        "transformer/decoder_0/feed_forward_norm/beta",
    } <= set(paths)


def test_depth_groups_start_with_tables_and_end_with_the_output():
    groups = [[v.path.split("/")[1] for v in group] for group in build(**VARIANTS[2]).depth_groups()]
    assert set(groups[0]) == {"source_token", "target_token", "source_positions", "target_positions"}
    assert [set(group) for group in groups[1:]] == [
        {"encoder_0"},
        {"encoder_1"},
        {"decoder_0"},
        {"decoder_1"},
        {"output"},
    ]


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        ({"num_heads": 16, "positions": "rotary"}, "num_heads", "expected heads of an even width"),
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


@pytest.mark.parametrize(("size", "millions"), [("tiny", 0.6), ("small", 2.3)])
def test_model_sizes_are_as_documented(size, millions, request):
    path = request.config.rootpath / "configs" / "models" / f"transformer_{size}.yaml"
    options = {name: value for name, value in read_yaml(path).values.items() if name != "name"}
    model = Transformer(vocabulary_size=8_000, target_vocabulary_size=8_000, **options)
    assert round(model.count_params() / 1e6, 1) == millions
