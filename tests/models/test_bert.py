"""BERT: equal to the reference, independent of padding, with stable weight names."""

import re

import keras
import numpy as np
import pytest

from tests.contracts.encoder import check_encoder
from tfattn.models.bert import Bert

SIZES = {"vocabulary_size": 50, "hidden_dim": 16, "num_layers": 2, "num_heads": 4, "intermediate_dim": 32}
DRAW = np.random.default_rng(0)
REAL = np.array([[1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 0]], bool)
FEATURES = {
    "token_ids": DRAW.integers(1, 50, size=(3, 7)).astype("int32"),
    "segment_ids": DRAW.integers(0, 2, size=(3, 7)).astype("int32"),
    "padding_mask": REAL,
}


def bert(**options):
    return Bert(**{**SIZES, "initializer_range": 0.3, "dropout": 0.0, **options})


def run(model, features=FEATURES, **options):
    return {name: keras.ops.convert_to_numpy(value) for name, value in model(features, **options).items()}


def by_hand(model, features):
    """The formulas of the paper in float64, with numpy alone."""
    weights = {v.path.removeprefix("bert/"): keras.ops.convert_to_numpy(v).astype("float64") for v in model.weights}

    def dense(x, name):
        return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + model.layer_norm_epsilon)
        return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def attention(x, name):
        batch, length, width = x.shape
        qkv = dense(x, f"{name}/qkv").reshape(batch, length, 3, model.num_heads, -1)
        q, k, v = (qkv[:, :, part] for part in range(3))
        scores = np.einsum("bthk,bshk->bhts", q, k) / np.sqrt(q.shape[-1])
        scores = np.exp(np.where(features["padding_mask"][:, None, None], scores, -np.inf))
        means = np.einsum("bhts,bshk->bthk", scores / scores.sum(-1, keepdims=True), v)
        return dense(means.reshape(batch, length, width), f"{name}/output")

    x = weights["embeddings/token/embeddings"][features["token_ids"]]
    x = x + weights["embeddings/position/embeddings"][: x.shape[1]]
    x = norm(x + weights["embeddings/segment/embeddings"][features["segment_ids"]], "embeddings/norm")
    for index in range(model.num_layers):
        block = f"block_{index}"
        if model.norm == "post":
            x = norm(x + attention(x, f"{block}/attention"), f"{block}/attention_norm")
        else:
            x = x + attention(norm(x, f"{block}/attention_norm"), f"{block}/attention")
        read = x if model.norm == "post" else norm(x, f"{block}/feed_forward_norm")
        fed = dense(gelu(dense(read, f"{block}/feed_forward/intermediate")), f"{block}/feed_forward/output")
        x = norm(x + fed, f"{block}/feed_forward_norm") if model.norm == "post" else x + fed
    x = x if model.norm == "post" else norm(x, "norm")
    return {"sequence_output": x, "pooled_output": np.tanh(dense(x[:, 0], "pooler/dense"))}


@pytest.mark.every_backend
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_equals_the_formulas(norm):
    model = bert(norm=norm, activation="gelu_approximate")
    expected, answer = by_hand(model, FEATURES), run(model)
    for name in expected:
        np.testing.assert_allclose(answer[name], expected[name], atol=1e-5)


def test_padding_changes_nothing():
    model = bert()
    answer = run(model)["sequence_output"]
    changed = {**FEATURES, "token_ids": np.where(REAL, FEATURES["token_ids"], 7)}
    np.testing.assert_allclose(run(model, changed)["sequence_output"][REAL], answer[REAL], atol=1e-6)
    longer = {name: np.pad(value, [(0, 0), (0, 3)]) for name, value in FEATURES.items()}
    np.testing.assert_allclose(run(model, longer)["sequence_output"][:, :7][REAL], answer[REAL], atol=1e-5)
    alone = {name: value[:1, :4] for name, value in FEATURES.items()}
    np.testing.assert_allclose(run(model, alone)["sequence_output"][0], answer[0, :4], atol=1e-5)


def test_absent_features_mean_one_segment_and_no_padding():
    model = bert()
    given = {**FEATURES, "segment_ids": np.zeros((3, 7), "int32"), "padding_mask": np.ones((3, 7), bool)}
    expected = run(model, given)["sequence_output"]
    answer = run(model, {"token_ids": FEATURES["token_ids"]})["sequence_output"]
    np.testing.assert_allclose(answer, expected, atol=1e-6)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_bfloat16_is_about_the_same(norm):
    model = bert(norm=norm, initializer_range=0.1)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = bert(norm=norm, initializer_range=0.1)
    finally:
        keras.config.set_dtype_policy("float32")
    half.set_weights(model.get_weights())
    assert {v.dtype for v in half.trainable_variables} == {"float32"}
    outputs = half(FEATURES)
    assert {keras.backend.standardize_dtype(value.dtype) for value in keras.tree.flatten(outputs)} == {"bfloat16"}
    answer = keras.ops.convert_to_numpy(keras.ops.cast(outputs["sequence_output"], "float32"))
    np.testing.assert_allclose(answer[REAL], run(model)["sequence_output"][REAL], atol=0.15)


def test_dropout_acts_only_in_training():
    model = bert(dropout=0.3)
    np.testing.assert_array_equal(run(model)["sequence_output"], run(model)["sequence_output"])
    one, two = run(model, training=True), run(model, training=True)
    assert (one["sequence_output"] != two["sequence_output"]).any()


def test_names_are_stable_readable_and_complete():
    first, second = bert(dropout=0.1), bert(dropout=0.1)
    paths = [v.path for v in first.variables]
    assert paths == [v.path for v in second.variables]
    assert len(set(paths)) == len(paths)
    assert {
        "bert/embeddings/token/embeddings",
        "bert/embeddings/position/embeddings",
        "bert/embeddings/segment/embeddings",
        "bert/embeddings/norm/gamma",
        "bert/block_0/attention/qkv/kernel",
        "bert/block_1/attention/output/bias",
        "bert/block_1/feed_forward/intermediate/kernel",
        "bert/block_1/feed_forward_norm/beta",
        "bert/pooler/dense/kernel",
    } <= set(paths)


@pytest.mark.parametrize(("norm", "groups"), [("post", 4), ("pre", 4)])
def test_depth_groups_have_every_trainable_variable_once(norm, groups):
    model = bert(norm=norm)
    grouped = model.depth_groups()
    assert len(grouped) == groups
    paths = [v.path for group in grouped for v in group]
    assert sorted(paths) == sorted(v.path for v in model.trainable_variables)
    assert paths[0].startswith("bert/embeddings/")
    assert all(path.startswith("bert/block_0/") for path in (v.path for v in grouped[1]))
    model.pooler.trainable = False
    assert len(model.depth_groups()) == (3 if norm == "post" else 4)


def test_configuration_round_trips_to_an_equal_model():
    model = bert(norm="pre", activation="relu")
    twin = Bert.from_config(model.get_config())
    twin.set_weights(model.get_weights())
    np.testing.assert_array_equal(run(twin)["sequence_output"], run(model)["sequence_output"])


def test_packed_texts_equal_separate_texts():
    model = bert(max_sequence_length=8)
    lengths = [3, 4]
    packed = {name: values[:1] for name, values in FEATURES.items() if name != "padding_mask"}
    together = run(model, {**packed, "sequence_ids": np.array([[1, 1, 1, 2, 2, 2, 2]])})["sequence_output"][0]
    for text, end in enumerate(np.cumsum(lengths)):
        part = {name: values[:, end - lengths[text] : end] for name, values in packed.items()}
        alone = run(model, part)["sequence_output"][0]
        np.testing.assert_allclose(together[end - lengths[text] : end], alone, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"num_segments": 0},
        {"embedding_dim": 6},
        {"num_distinct_blocks": 1},
        {"embedding_dim": 6, "num_layers": 5, "num_distinct_blocks": 2},
        {"num_segments": 0, "position_buckets": 8},
    ],
    ids=["distilbert", "electra", "shared", "albert", "mpnet"],
)
def test_options_of_other_encoders_meet_the_contract(options):
    check_encoder(bert(**options), FEATURES)


def test_shared_blocks_compute_consecutive_layers():
    """Five layers of two blocks: the first block computes three layers, the second two."""
    model, whole = bert(num_layers=5, num_distinct_blocks=2), bert(num_layers=5)
    weights = {v.path: v for v in model.weights}
    for weight in whole.weights:
        number = re.search(r"block_(\d)", weight.path)
        source = weight.path.replace(number[0], f"block_{int(number[1]) // 3}") if number else weight.path
        weight.assign(weights[source])
    np.testing.assert_allclose(run(model)["sequence_output"], run(whole)["sequence_output"], atol=1e-6)
    assert [len(group) for group in model.depth_groups()[1:3]] == [12, 12]


def test_projected_embeddings_have_tables_of_their_own_width():
    model = bert(embedding_dim=6)
    assert model.token_embeddings.embeddings.shape == (50, 6)
    assert "bert/embeddings/projection/kernel" in {v.path for v in model.weights}


def test_learned_distances_are_added_in_all_blocks():
    model = bert(position_buckets=8)
    model.embeddings.position.embeddings.assign(np.zeros((512, 16)))
    same = np.full((1, 6), 3, "int32")
    assert np.ptp(run(model, {"token_ids": same})["sequence_output"], axis=1).max() < 1e-5
    model.position_bias.table.embeddings.assign(DRAW.normal(size=(8, 4)))
    # Equal tokens: only the distances distinguish the keys.
    weights = keras.ops.convert_to_numpy(model.attention({"token_ids": same})["encoder"].weights)
    assert weights.shape == (1, 2, 4, 6, 6)
    assert np.ptp(weights, axis=-1).min() > 1e-3
