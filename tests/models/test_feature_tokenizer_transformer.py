"""FT-Transformer: equal to the formulas, independent of the order of columns, with its attention."""

import json

import keras
import numpy as np
import pytest

from tfattn.errors import ConfigError
from tfattn.models.feature_tokenizer_transformer import LAYER_NORM_EPSILON, FeatureTokenizerTransformer

NUMERIC, COUNTS, BINS = 3, [4, 6], 5
SIZES = {"num_numeric": NUMERIC, "category_counts": COUNTS, "num_bins": BINS, "hidden_dim": 12, "num_heads": 2}
EMBEDDINGS = ["linear", "piecewise_linear", "periodic"]
DRAW = np.random.default_rng(0)
FEATURES = {
    "numeric": DRAW.normal(size=(6, NUMERIC)).astype("float32"),
    "piecewise": DRAW.random(size=(6, NUMERIC * BINS)).astype("float32"),
    "missing": DRAW.integers(0, 2, size=(6, NUMERIC)).astype("float32"),
    "category_ids": DRAW.integers(0, 4, size=(6, 2)).astype("int32"),
}


def build(seed=0, **options):
    """A model whose weights are all drawn, so that none is 0 or 1."""
    model = FeatureTokenizerTransformer(**{**SIZES, "num_layers": 3, **options})
    draw = np.random.default_rng(seed)
    model.set_weights([draw.normal(0, 0.4, size=weight.shape) for weight in model.weights])
    return model


def run(model, features=FEATURES, **options):
    return {name: keras.ops.convert_to_numpy(value) for name, value in model(features, **options).items()}


def by_hand(model, features):
    """The formulas of the paper in float64, with numpy alone: every token of every block is computed."""
    weights = {
        v.path.removeprefix("feature_tokenizer_transformer/"): keras.ops.convert_to_numpy(v).astype("float64")
        for v in model.weights
    }

    def dense(x, name):
        return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + LAYER_NORM_EPSILON)
        return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]

    def attention(x, name):
        batch, length, width = x.shape
        qkv = dense(x, f"{name}/qkv").reshape(batch, length, 3, model.num_heads, -1)
        q, k, v = (qkv[:, :, part] for part in range(3))
        scores = np.exp(np.einsum("bthk,bshk->bhts", q, k) / np.sqrt(q.shape[-1]))
        scores = scores / scores.sum(-1, keepdims=True)
        means = np.einsum("bhts,bshk->bthk", scores, v)
        return dense(means.reshape(batch, length, width), f"{name}/output"), scores

    x = features["numeric"][..., None] * weights["numeric/projection/kernel"][:, 0]
    x = x + weights["numeric/projection/bias"] + features["missing"][..., None] * weights["missing/vectors"]
    categories = weights["category/embeddings"][features["category_ids"] + np.array([0, COUNTS[0]])]
    first = np.broadcast_to(weights["class_token/vector"], (len(x), 1, x.shape[-1]))
    x = np.concatenate([first, x, categories + weights["category/bias"]], axis=1)
    attended = []
    for index in range(model.num_layers):
        block = f"block_{index}"
        gathered, scores = attention(norm(x, f"{block}/attention_norm") if index else x, f"{block}/attention")
        x = x + gathered
        wide = dense(norm(x, f"{block}/feed_forward_norm"), f"{block}/feed_forward/intermediate")
        gate, value = np.split(wide, 2, axis=-1)
        x = x + dense(np.maximum(gate, 0) * value, f"{block}/feed_forward/output")
        attended.append(scores[:, :, 0])
    columns = np.mean(attended, axis=(0, 2))[:, 1:]
    return {
        "pooled_output": np.maximum(norm(x[:, 0], "norm"), 0),
        "column_attention": columns / columns.sum(-1, keepdims=True),
    }


def test_equals_the_formulas():
    model = build()
    expected, answer = by_hand(model, FEATURES), run(model)
    for name in expected:
        np.testing.assert_allclose(answer[name], expected[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_outputs_are_a_vector_and_attention_that_sums_to_1(embedding):
    answer = run(build(numeric_embedding=embedding))
    assert answer["pooled_output"].shape == (6, 12)
    assert answer["column_attention"].shape == (6, NUMERIC + len(COUNTS))
    np.testing.assert_allclose(answer["column_attention"].sum(-1), 1, rtol=1e-5)
    assert (answer["column_attention"] > 0).all()


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_a_single_row_equals_a_row_in_a_batch(embedding):
    model = build(numeric_embedding=embedding)
    answer = run(model)
    for row in range(6):
        alone = run(model, {name: value[row : row + 1] for name, value in FEATURES.items()})
        for name in answer:
            np.testing.assert_allclose(alone[name][0], answer[name][row], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_permuting_columns_with_their_weights_changes_nothing(embedding):
    model, order = build(numeric_embedding=embedding), [2, 0, 1]
    twin = build(numeric_embedding=embedding)
    for layer in (twin.numeric, twin.missing):
        layer.set_weights([weight[order] for weight in layer.get_weights()])
    shuffled = {**FEATURES, **{name: FEATURES[name][:, order] for name in ("numeric", "missing")}}
    bins = FEATURES["piecewise"].reshape(6, NUMERIC, BINS)
    answer, other = run(model), run(twin, {**shuffled, "piecewise": bins[:, order].reshape(6, -1)})
    np.testing.assert_allclose(other["pooled_output"], answer["pooled_output"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        other["column_attention"], answer["column_attention"][:, [*order, 3, 4]], rtol=1e-4, atol=1e-6
    )


def test_a_missing_number_is_not_its_median():
    model = build()
    none = {**FEATURES, "missing": np.zeros((6, NUMERIC), "float32")}
    second = {**FEATURES, "missing": np.eye(NUMERIC, dtype="float32")[[1] * 6]}
    assert (run(model, second)["pooled_output"] != run(model, none)["pooled_output"]).any(-1).all()
    del none["missing"]
    np.testing.assert_array_equal(
        run(model, none)["pooled_output"],
        run(model, {**none, "missing": np.zeros((6, NUMERIC), "float32")})["pooled_output"],
    )


@pytest.mark.parametrize(("numeric", "counts"), [(3, []), (0, [4, 6])])
def test_columns_of_one_kind(numeric, counts):
    model = build(num_numeric=numeric, category_counts=counts)
    answer = run(model)
    assert answer["column_attention"].shape == (6, numeric + len(counts))
    assert answer["pooled_output"].shape == (6, 12)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_bfloat16_is_about_the_same(embedding):
    model = build(numeric_embedding=embedding)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = build(numeric_embedding=embedding)
    finally:
        keras.config.set_dtype_policy("float32")
    assert {v.dtype for v in half.trainable_variables} == {"float32"}
    outputs = half(FEATURES)
    assert keras.backend.standardize_dtype(outputs["pooled_output"].dtype) == "bfloat16"
    assert keras.backend.standardize_dtype(outputs["column_attention"].dtype) == "float32"
    expected = run(model)
    np.testing.assert_allclose(outputs["column_attention"], expected["column_attention"], atol=0.05)
    vectors = keras.ops.convert_to_numpy(keras.ops.cast(outputs["pooled_output"], "float32"))
    np.testing.assert_allclose(vectors, expected["pooled_output"], atol=0.1)


def test_dropout_acts_only_in_training():
    model = build()
    np.testing.assert_array_equal(run(model)["pooled_output"], run(model)["pooled_output"])
    one, two = run(model, training=True), run(model, training=True)
    assert (one["pooled_output"] != two["pooled_output"]).any()


def test_names_are_stable_readable_and_complete():
    first, second = build(), build()
    paths = [v.path.removeprefix("feature_tokenizer_transformer/") for v in first.variables]
    assert [v.path for v in first.variables] == [v.path for v in second.variables]
    assert len(set(paths)) == len(paths)
    assert {
        "numeric/projection/kernel",
        "missing/vectors",
        "category/embeddings",
        "class_token/vector",
        "block_0/attention/qkv/kernel",
        "block_1/attention_norm/gamma",
        "block_2/feed_forward/output/bias",
        "norm/beta",
    } <= set(paths)
    assert "block_0/attention_norm/gamma" not in paths


def test_depth_groups_have_every_trainable_variable_once():
    model = build(num_layers=2)
    grouped = [[v.path for v in group] for group in model.depth_groups()]
    assert len(grouped) == 4
    assert sorted(path for group in grouped for path in group) == sorted(v.path for v in model.trainable_variables)
    assert "feature_tokenizer_transformer/class_token/vector" in grouped[0]


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_configuration_and_weights_give_an_equal_model(embedding, tmp_path):
    model = build(numeric_embedding=embedding, intermediate_dim=20)
    twin = FeatureTokenizerTransformer.from_config(json.loads(json.dumps(model.get_config())))
    model.save_weights(tmp_path / "model.weights.h5")
    twin.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(run(twin)["pooled_output"], run(model)["pooled_output"])


def test_the_feed_forward_width_is_four_thirds_by_default():
    shapes = {v.path: v.shape for v in build(hidden_dim=192).weights}
    assert shapes["feature_tokenizer_transformer/block_0/feed_forward/output/kernel"] == (256, 192)


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        (
            {"num_bins": 0, "numeric_embedding": "piecewise_linear"},
            "numeric_embedding",
            "the preprocessor makes no bins: expected linear or periodic, or `bins` above 0",
        ),
        ({"num_numeric": 0, "category_counts": []}, "num_numeric", "there is no column to read"),
    ],
)
def test_invalid_sizes_are_refused(options, key, message):
    with pytest.raises(ConfigError, match=message) as caught:
        build(**options)
    assert caught.value.key == key
