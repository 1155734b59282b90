"""The feature-map Transformer: the map and the bottleneck."""

import json

import keras
import numpy as np
import pytest

from tfattn.errors import ConfigError
from tfattn.models.feature_map_transformer import FeatureMapTransformer

X = np.random.default_rng(0).normal(size=(5, 14)).astype("float32")


def build(seed=0, **options):
    """A model whose weights are all drawn, so that none is 0 or 1."""
    model = FeatureMapTransformer(**{"num_numeric": 14, "category_counts": [], **options})
    draw = np.random.default_rng(seed)
    model.set_weights([draw.normal(0, 0.3, size=weight.shape) for weight in model.weights])
    return model


def run(model, x=X, **options):
    return {name: keras.ops.convert_to_numpy(value) for name, value in model({"numeric": x}, **options).items()}


def by_hand(model, x):
    """The recipe in float64, with numpy alone, but for the encoder."""
    weights = {
        v.path.removeprefix("feature_map_transformer/"): keras.ops.convert_to_numpy(v).astype("float64")
        for v in model.weights
    }

    def convolution(x, name):
        return x @ weights[f"{name}/kernel"][0, 0] + weights[f"{name}/bias"]

    scaled = (x - x.min(1, keepdims=True)) / np.ptp(x, axis=1)[:, None] + 0.0001
    places = convolution(np.pad(scaled, [(0, 0), (1, 1)])[..., None], "expand")
    places = places + weights["position/embeddings"]
    for block in model.blocks:
        places = keras.ops.convert_to_numpy(block(places.astype("float32")))
    # (B, rows, rows of a square, columns, columns of a square, F), and the largest of each square
    squares = convolution(places, "reduce").reshape(len(x), 2, 2, 2, 2, -1).max(axis=(2, 4))
    decided = squares
    for name in ("decide_0", "decide_1"):
        decided = np.maximum(convolution(decided, name), 0)
    dense = decided.mean(axis=(1, 2)) @ weights["dense/kernel"] + weights["dense/bias"]
    pooled = np.where(dense > 0, dense, dense * weights["bend/alpha"])
    return {"essential_features": squares.reshape(len(x), -1), "pooled_output": pooled}


@pytest.mark.parametrize("channels", [1, 3])
def test_equals_the_recipe(channels):
    model = build(feature_channels=channels, num_layers=2)
    expected, answer = by_hand(model, X.astype("float64")), run(model)
    assert answer["essential_features"].shape == (5, 4 * channels)
    assert answer["pooled_output"].shape == (5, model.hidden_dim) == (5, 128)
    for name in expected:
        np.testing.assert_allclose(answer[name], expected[name], rtol=1e-3, atol=1e-4)


def test_the_widths_are_those_of_the_recipe():
    kernels = [v.shape for v in build().weights if v.path.endswith("kernel") and "block" not in v.path]
    assert kernels == [(1, 1, 1, 64), (1, 1, 64, 1), (1, 1, 1, 128), (1, 1, 128, 64), (64, 128)]


def test_a_single_row_equals_a_row_in_a_batch():
    model = build()
    answer = run(model)
    for row in range(len(X)):
        alone = run(model, X[row : row + 1])
        for name in answer:
            np.testing.assert_allclose(alone[name][0], answer[name][row], rtol=1e-4, atol=1e-5)


def test_rows_are_scale_invariant():
    model = build()
    np.testing.assert_allclose(
        run(model, 100 * X + 7)["pooled_output"], run(model)["pooled_output"], rtol=1e-2, atol=1e-3
    )


def test_without_positions_only_squares_distinguish_columns():
    swapped = X.copy()
    swapped[:, [0, 3]] = X[:, [3, 0]]  # places 1 and 4 of the map, which share a square
    with_positions, without = build(positions="learned"), build(positions="none")
    assert not any("position" in v.path for v in without.weights)
    np.testing.assert_allclose(
        run(without, swapped)["pooled_output"], run(without)["pooled_output"], rtol=1e-4, atol=1e-5
    )
    assert np.abs(run(with_positions, swapped)["pooled_output"] - run(with_positions)["pooled_output"]).max() > 1e-3


def test_more_columns_make_a_larger_map():
    answer = run(build(num_numeric=34), np.random.default_rng(1).normal(size=(2, 34)).astype("float32"))
    assert answer["essential_features"].shape == (2, 9)
    assert answer["pooled_output"].shape == (2, 128)


def test_essential_features_stay_float32():
    model = build()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = build()
    finally:
        keras.config.set_dtype_policy("float32")
    outputs = half({"numeric": X})
    assert keras.backend.standardize_dtype(outputs["essential_features"].dtype) == "float32"
    assert keras.backend.standardize_dtype(outputs["pooled_output"].dtype) == "bfloat16"
    np.testing.assert_allclose(outputs["essential_features"], run(model)["essential_features"], atol=0.2)


def test_dropout_acts_only_in_training():
    model = build(dropout=0.3)
    np.testing.assert_array_equal(run(model)["pooled_output"], run(model)["pooled_output"])
    assert (run(model, training=True)["pooled_output"] != run(model, training=True)["pooled_output"]).any()


def test_names_are_stable_and_depth_groups_are_complete():
    first, second = build(num_layers=2), build(num_layers=2)
    paths = [v.path for v in first.variables]
    assert paths == [v.path for v in second.variables]
    assert len(set(paths)) == len(paths)
    grouped = [[v.path for v in group] for group in first.depth_groups()]
    assert sorted(path for group in grouped for path in group) == sorted(v.path for v in first.trainable_variables)
    assert len(grouped) == 5 and all("block_1" in path for path in grouped[2])


def test_configuration_and_weights_give_an_equal_model(tmp_path):
    model = build(feature_channels=2)
    twin = FeatureMapTransformer.from_config(json.loads(json.dumps(model.get_config())))
    model.save_weights(tmp_path / "model.weights.h5")
    twin.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(run(twin)["pooled_output"], run(model)["pooled_output"])


@pytest.mark.parametrize(
    ("options", "key", "message"),
    [
        ({"num_numeric": 13}, "num_numeric", "do not fill a map: expected 14 numeric columns .*, received 13"),
        (
            {"category_counts": [4]},
            "category_counts",
            "reads numbers only: expected no categorical columns, received 1",
        ),
    ],
)
def test_invalid_sizes_are_refused(options, key, message):
    with pytest.raises(ConfigError, match=message) as caught:
        build(**options)
    assert caught.value.key == key
