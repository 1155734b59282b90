"""GPT: the decoder contract with each option, equal to the formulas, with stable weight names."""

import keras
import numpy as np
import pytest

from tests.contracts.decoder import check_decoder
from tfattn.errors import ConfigError
from tfattn.models.gpt import Gpt

SIZES = {
    "vocabulary_size": 20,
    "hidden_dim": 16,
    "num_layers": 2,
    "num_heads": 4,
    "intermediate_dim": 24,
    "max_sequence_length": 16,
    "dropout": 0.0,
}
LLAMA = {
    "positions": "rotary",
    "normalization": "rms_norm",
    "activation": "swiglu",
    "use_bias": False,
    "num_key_value_heads": 2,
    "rotary_base": 100000.0,
}
RECIPE = {
    "positions": "sinusoidal",
    "activation": "relu_squared",
    "qk_norm": True,
    "tied": False,
    "logit_soft_cap": 5.0,
    "num_key_value_heads": 1,
}


GEMMA = {
    **LLAMA,
    "head_dim": 6,
    "window": 3,
    "global_layers": [1],
    "local_rotary_base": 10.0,
    "rotary_scaling": {"name": "linear", "factor": 2.0},
    "norm": "both",
    "activation": "geglu_approximate",
    "qk_norm": True,
    "query_scale": 0.5,
    "attention_soft_cap": 2.0,
    "logit_soft_cap": 3.0,
    "scale_embeddings": True,
}
NEOX = {
    "positions": "rotary",
    "rotary_fraction": 0.5,
    "norm": "parallel",
    "activation": "gelu",
    "tied": False,
    "window": 2,
    "unrotated_layers": [0],
    "attention_bias": "qkv",
}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"num_layers": 1}, id="gpt-2"),
        pytest.param(LLAMA, id="llama", marks=pytest.mark.every_backend),
        pytest.param({**RECIPE, "num_layers": 1}, id="recipe"),
        pytest.param(GEMMA, id="gemma", marks=pytest.mark.every_backend),
        pytest.param(NEOX, id="neox"),
    ],
)
def test_contract(parts):
    check_decoder(Gpt(**SIZES | parts))


def by_hand(model, token_ids):
    """Llama's formulas in float64, with numpy alone, for one text."""
    weights = {v.path.removeprefix("gpt/"): keras.ops.convert_to_numpy(v).astype("float64") for v in model.weights}
    heads, groups, width = model.num_heads, model.num_groups, model.hidden_dim
    each, length = width // heads, len(token_ids)

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + model.epsilon) * weights[f"{name}/gamma"]

    def turned(x):  # (T, N, K)
        angles = np.arange(length)[:, None] / model.rotary_base ** (np.arange(0, each, 2) / each)
        points = (x[..., : each // 2] + 1j * x[..., each // 2 :]) * np.exp(1j * angles)[:, None]
        return np.concatenate([points.real, points.imag], axis=-1)

    x = weights["token/embeddings"][token_ids]
    for index in range(model.num_layers):
        block = f"block_{index}"
        qkv = norm(x, f"{block}/attention_norm") @ weights[f"{block}/attention/qkv/kernel"]
        query, key, value = np.split(qkv, [width, width + each * groups], axis=1)
        query = turned(query.reshape(length, heads, each))
        key, value = turned(key.reshape(length, groups, each)), value.reshape(length, groups, each)
        means = []
        for head in range(heads):
            group = head // (heads // groups)
            scores = query[:, head] @ key[:, group].T / np.sqrt(each)
            scores = np.exp(np.where(np.tri(length) > 0, scores, -np.inf))
            means.append(scores / scores.sum(-1, keepdims=True) @ value[:, group])
        x = x + np.concatenate(means, axis=1) @ weights[f"{block}/attention/output/kernel"]
        inner = norm(x, f"{block}/feed_forward_norm") @ weights[f"{block}/feed_forward/intermediate/kernel"]
        gate, other = np.split(inner, 2, axis=1)
        x = x + gate / (1 + np.exp(-gate)) * other @ weights[f"{block}/feed_forward/output/kernel"]
    return norm(x, "norm") @ weights["token/embeddings"].T


def test_llama_equals_the_formulas():
    model = Gpt(**SIZES, **LLAMA)
    draw = np.random.default_rng(1)
    model.set_weights([draw.normal(0, 0.3, size=weight.shape) for weight in model.weights])
    token_ids = draw.integers(0, 20, size=7).astype("int32")
    ours = keras.ops.convert_to_numpy(model({"token_ids": token_ids[None]})["logits"])[0]
    np.testing.assert_allclose(ours, by_hand(model, token_ids), atol=1e-4)


def test_a_soft_cap_bounds_logits():
    capped, free = Gpt(**SIZES, logit_soft_cap=0.5), Gpt(**SIZES)
    draw = np.random.default_rng(1)
    weights = [draw.normal(0, 1.0, size=weight.shape) for weight in free.weights]
    for model in (capped, free):
        model.set_weights(weights)
    ids = {"token_ids": np.array([[1, 2, 3]], "int32")}
    capped, free = (keras.ops.convert_to_numpy(model(ids)["logits"]) for model in (capped, free))
    np.testing.assert_allclose(capped, 0.5 * np.tanh(free / 0.5), atol=1e-5)


def test_a_window_hides_earlier_positions():
    model = Gpt(**SIZES, **LLAMA, window=3, initializer_range=0.5)
    ids = np.array([[1, 2, 3, 4, 5, 6, 7]], "int32")
    logits = keras.ops.convert_to_numpy(model({"token_ids": ids})["logits"])
    changed = keras.ops.convert_to_numpy(model({"token_ids": np.array([[9, 2, 3, 4, 5, 6, 7]], "int32")})["logits"])
    differs = np.abs(logits - changed).max(axis=-1)[0] > 1e-6
    assert differs.tolist() == [True] * 5 + [False] * 2  # two layers reach back twice 2 positions


def test_options_that_are_off_add_no_operations():
    import tensorflow as tf

    def operations(model):
        read = tf.function(lambda ids: model.read(ids, model.empty_cache(1))[0], autograph=False)
        graph = read.get_concrete_function(tf.TensorSpec([1, None], tf.int32)).graph
        return [operation.type for operation in graph.get_operations()]

    plain, other = operations(Gpt(**SIZES, **LLAMA)), operations(Gpt(**SIZES, **GEMMA))
    # Of soft caps, and of the positions of cached keys.
    assert not {"Tanh", "Cumsum"}.intersection(plain) and {"Tanh", "Cumsum"}.issubset(other)


def test_dropped_tokens_are_dropped_at_all_positions():
    keras.utils.set_random_seed(1)
    model = Gpt(**{**SIZES, "vocabulary_size": 200}, token_dropout=0.5, positions="rotary")
    ids = np.arange(200, dtype="int32").reshape(-1, 10)
    x = keras.ops.convert_to_numpy(model._embedded(np.concatenate([ids, ids]), np.arange(10)[None], training=True))
    first, second = np.split(x, 2)
    np.testing.assert_array_equal(first, second)
    assert 0.3 < (first == 0).all(axis=-1).mean() < 0.7
    untouched = keras.ops.convert_to_numpy(model._embedded(ids, np.arange(10)[None], training=False))
    assert not (untouched == 0).all(axis=-1).any()


def test_residual_projections_have_a_smaller_initialization():
    model = Gpt(**{**SIZES, "hidden_dim": 64, "num_layers": 8, "intermediate_dim": 256})
    deviations = {v.path: float(keras.ops.std(v)) for v in model.trainable_variables if v.path.endswith("kernel")}
    first = deviations["gpt/block_0/attention/qkv/kernel"]
    for part in ("attention", "feed_forward"):
        np.testing.assert_allclose(deviations[f"gpt/block_0/{part}/output/kernel"], first / 4, rtol=0.1)


def test_heads_of_rotary_positions_have_an_even_width():
    with pytest.raises(ConfigError, match="rotate pairs") as caught:
        Gpt(**{**SIZES, "hidden_dim": 12}, positions="rotary")
    assert caught.value.key == "num_heads"
