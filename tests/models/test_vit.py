"""ViT: formulas by hand, positions and patches, options, and the contract."""

import keras
import numpy as np
import pytest

from tests.contracts.image_encoder import check_image_encoder, run
from tfattn.errors import ConfigError
from tfattn.models.vit import Vit

SIZES = {"hidden_dim": 16, "num_layers": 2, "num_heads": 4, "intermediate_dim": 24}
IMAGES = np.random.default_rng(0).random((2, 8, 12, 3)).astype("float32")
COMPACT = {"patch_size": None, "num_convolutions": 2, "pooling": "attention"}


def vit(**options):
    return Vit(**{"image_size": [8, 12], "patch_size": 4, **SIZES, "initializer_range": 0.3, **options})


def weights_of(model):
    return {v.path.removeprefix("vit/"): keras.ops.convert_to_numpy(v).astype("float64") for v in model.weights}


def by_hand(model, images):
    """The formulas of the paper in float64, with numpy alone; GELU by tanh."""
    weights = weights_of(model)

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
        scores = np.exp(np.einsum("bthk,bshk->bhts", q, k) / np.sqrt(q.shape[-1]))
        means = np.einsum("bhts,bshk->bthk", scores / scores.sum(-1, keepdims=True), v)
        return dense(means.reshape(batch, length, width), f"{name}/output")

    pixels = (images.astype("float64") - model.pixel_mean) / model.pixel_deviation
    (rows, columns), side = model.patch_grid, model.patch_size
    places = [
        (slice(row * side, (row + 1) * side), slice(column * side, (column + 1) * side))
        for row in range(rows)
        for column in range(columns)
    ]
    x = np.stack([dense(pixels[:, *place].reshape(len(images), -1), "tokens/projection") for place in places], axis=1)
    first = np.broadcast_to(weights["class_token/vector"], (len(images), 1, model.hidden_dim))
    x = np.concatenate([first, x], axis=1) + weights["positions/position/embeddings"]
    for block in (f"block_{index}" for index in range(model.num_layers)):
        x = x + attention(norm(x, f"{block}/attention_norm"), f"{block}/attention")
        read = norm(x, f"{block}/feed_forward_norm")
        x = x + dense(gelu(dense(read, f"{block}/feed_forward/intermediate")), f"{block}/feed_forward/output")
    x = norm(x, "norm")
    return {"sequence_output": x, "pooled_output": x[:, 0]}


@pytest.mark.every_backend
def test_equals_the_formulas():
    model = vit(activation="gelu_approximate", pixel_mean=[0.4, 0.5, 0.6], pixel_deviation=[0.2, 0.25, 0.3])
    expected, answer = by_hand(model, IMAGES), run(model, IMAGES)
    for name in expected:
        np.testing.assert_allclose(answer[name], expected[name], atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="class token"),
        pytest.param({"distillation_token": True, "num_registers": 2, "layer_scale": 0.5}, id="prefix tokens"),
        pytest.param({"pooling": "mean", "positions": "sinusoidal", "use_bias": False, "num_layers": 1}, id="mean"),
        pytest.param({**COMPACT, "activation": "swiglu", "normalization": "rms_norm", "num_layers": 1}, id="compact"),
        pytest.param({"image_size": 8, "pooling": "attention", "positions": "none", "num_layers": 1}, id="square"),
    ],
)
def test_contract(options, tmp_path):
    check_image_encoder(lambda: vit(**{"initializer_range": 0.1, **options}), folder=tmp_path)


def test_tokens_correspond_to_grid_positions():
    model = vit(num_layers=1, positions="none")
    assert model.patch_grid == (2, 3)
    before = keras.ops.convert_to_numpy(model({"images": IMAGES})["hidden_states"][0])
    changed = IMAGES.copy()
    changed[0, 4:, 8:] = 0.0  # the place at row 1, column 2
    after = keras.ops.convert_to_numpy(model({"images": changed})["hidden_states"][0])
    assert np.nonzero(np.abs(after - before).max(axis=-1))[1].tolist() == [model.num_prefix_tokens + 1 * 3 + 2]


def test_positions_encode_the_order_of_patches():
    turned = np.concatenate([IMAGES[:, 4:], IMAGES[:, :4]], axis=1)
    for positions, is_lost in {"none": True, "learned": False, "sinusoidal": False}.items():
        model = vit(positions=positions)
        one, other = (run(model, images)["pooled_output"] for images in (IMAGES, turned))
        assert np.allclose(one, other, atol=1e-5) == is_lost


def test_sinusoidal_positions_do_not_change_the_class_token():
    model = vit(positions="sinusoidal")
    tokens = keras.ops.convert_to_numpy(model({"images": IMAGES})["hidden_states"][0])
    np.testing.assert_allclose(tokens[:, 0], np.tile(weights_of(model)["class_token/vector"], (2, 1)), atol=1e-6)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_tokens_before_the_grid(positions):
    model = vit(distillation_token=True, num_registers=2, positions=positions)
    weights, tokens = weights_of(model), keras.ops.convert_to_numpy(model({"images": IMAGES})["hidden_states"][0])
    assert (model.num_prefix_tokens, tokens.shape) == (4, (2, 4 + 6, 16))
    table = weights.get("positions/position/embeddings", np.zeros((8, 16)))
    first = np.stack([weights["class_token/vector"], weights["distillation_token/vector"]]) + table[:2]
    for image in tokens:
        np.testing.assert_allclose(image[:2], first, atol=1e-6)
        np.testing.assert_allclose(image[2:4], weights["registers/vectors"], atol=1e-6)
    np.testing.assert_array_equal(run(model, IMAGES)["pooled_output"], run(model, IMAGES)["sequence_output"][:, 0])


def test_layer_scale_starts_at_a_value_and_scales_both_results():
    model, plain = vit(layer_scale=0.25, num_layers=1), vit(num_layers=1)
    scales = {name: value for name, value in weights_of(model).items() if "scale" in name}
    assert list(scales) == ["block_0/attention_scale/gamma", "block_0/feed_forward_scale/gamma"]
    assert all((value == 0.25).all() for value in scales.values())
    for weight in plain.weights:
        value = weights_of(model)[weight.path.removeprefix("vit/")]
        is_result = weight.path.split("/")[-2] == "output"
        weight.assign(0.25 * value if is_result else value)
    one, other = (run(model, IMAGES)["sequence_output"] for model in (model, plain))
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_pooling():
    model = vit(pooling="mean")
    answer = run(model, IMAGES)
    np.testing.assert_allclose(answer["pooled_output"], answer["sequence_output"].mean(axis=1), atol=1e-5)
    model = vit(pooling="attention")
    answer = run(model, IMAGES)
    scores = np.exp(answer["sequence_output"] @ weights_of(model)["pooling/score/kernel"])
    means = (scores * answer["sequence_output"]).sum(axis=1) / scores.sum(axis=1)
    np.testing.assert_allclose(answer["pooled_output"], means, atol=1e-4)


def test_dropout_and_stochastic_depth_act_only_in_training():
    for options in ({"dropout": 0.3}, {"attention_dropout": 0.3}, {"stochastic_depth": 0.5}):
        model = vit(**options)
        np.testing.assert_array_equal(run(model, IMAGES)["pooled_output"], run(model, IMAGES)["pooled_output"])
        one, two = (
            keras.ops.convert_to_numpy(model({"images": np.tile(IMAGES, (8, 1, 1, 1))}, training=True)["pooled_output"])
            for _ in range(2)
        )
        assert (one != two).any()


def test_stochastic_depth_rises_from_block_to_block():
    def rates(model):
        return [depth.rate for block in model.blocks for depth in block.depths.values()]

    np.testing.assert_allclose(rates(vit(num_layers=5, stochastic_depth=0.2)), np.repeat([0, 0.05, 0.1, 0.15, 0.2], 2))
    assert rates(vit(num_layers=1, stochastic_depth=0.2)) == [0, 0]


def test_a_batch_of_any_size_in_a_graph():
    tf = pytest.importorskip("tensorflow")
    if keras.backend.backend() != "tensorflow":
        pytest.skip("graphs are TensorFlow's")
    model = vit(**COMPACT)
    specification = {"images": tf.TensorSpec([None, None, None, 3])}
    graph = tf.function(lambda features: model(features)["pooled_output"], input_signature=[specification])
    np.testing.assert_allclose(graph({"images": IMAGES}), run(model, IMAGES)["pooled_output"], atol=1e-5)


def test_patches_that_do_not_divide_the_image_are_refused():
    with pytest.raises(ConfigError, match="do not fill the images: expected a divisor of 8 and 12, .*, received 3"):
        vit(patch_size=3)
