"""ModernBert: options by hand, packed texts, and stable weight names."""

import keras
import numpy as np
import pytest

from tests.contracts.encoder import check_encoder
from tfattn.models.bert import Bert
from tfattn.models.modern_bert import ModernBert

SIZES = {"vocabulary_size": 50, "hidden_dim": 16, "num_layers": 2, "num_heads": 4, "intermediate_dim": 24}
DRAW = np.random.default_rng(0)
LENGTHS = np.array([4, 7, 2])
REAL = np.arange(7) < LENGTHS[:, None]
FEATURES = {
    "token_ids": DRAW.integers(1, 50, size=(3, 7)).astype("int32"),
    "segment_ids": DRAW.integers(0, 2, size=(3, 7)).astype("int32"),
    "padding_mask": REAL,
}
# Everything as in Bert with norm="pre".
PLAIN = {"activation": "gelu", "positions": "learned", "normalization": "layer_norm", "use_bias": True}


def modern(**options):
    return ModernBert(**{**SIZES, "initializer_range": 0.3, **options})


def run(model, features=FEATURES):
    return keras.ops.convert_to_numpy(model(features)["sequence_output"])


def by_hand(model, features):
    """The formulas of the papers in float64, with numpy alone."""
    weights = {
        v.path.removeprefix("modern_bert/"): keras.ops.convert_to_numpy(v).astype("float64") for v in model.weights
    }

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + model.layer_norm_epsilon) * weights[f"{name}/gamma"]

    def turned(x):
        """Each pair of components i and i + K / 2 by the position's angle, as a complex number."""
        half = x.shape[-1] // 2
        angles = np.arange(x.shape[1])[:, None] / 10000.0 ** (np.arange(half) / half)
        pairs = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)[:, None]
        return np.concatenate([pairs.real, pairs.imag], axis=-1)

    def attention(x, name):
        batch, length, width = x.shape
        qkv = (x @ weights[f"{name}/qkv/kernel"]).reshape(batch, length, 3, model.num_heads, -1)
        q, k, v = turned(qkv[:, :, 0]), turned(qkv[:, :, 1]), qkv[:, :, 2]
        scores = np.einsum("bthk,bshk->bhts", q, k) / np.sqrt(q.shape[-1])
        scores = np.exp(np.where(features["padding_mask"][:, None, None], scores, -np.inf))
        means = np.einsum("bhts,bshk->bthk", scores / scores.sum(-1, keepdims=True), v)
        return means.reshape(batch, length, width) @ weights[f"{name}/output/kernel"]

    def fed(x, name):
        gate, value = np.split(x @ weights[f"{name}/intermediate/kernel"], 2, axis=-1)
        return (gate / (1 + np.exp(-gate)) * value) @ weights[f"{name}/output/kernel"]

    x = weights["embeddings/token/embeddings"][features["token_ids"]]
    x = norm(x + weights["embeddings/segment/embeddings"][features["segment_ids"]], "embeddings/norm")
    for block in (f"block_{index}" for index in range(model.num_layers)):
        x = x + attention(norm(x, f"{block}/attention_norm"), f"{block}/attention")
        x = x + fed(norm(x, f"{block}/feed_forward_norm"), f"{block}/feed_forward")
    return norm(x, "norm")


@pytest.mark.every_backend
def test_equals_the_formulas():
    model = modern(activation="swiglu")
    np.testing.assert_allclose(run(model), by_hand(model, FEATURES), atol=1e-4)


def test_with_all_options_of_bert_it_equals_bert():
    model, reference = modern(**PLAIN), Bert(**SIZES, norm="pre", dropout=0.0, layer_norm_epsilon=1e-6)
    named = {v.path.partition("/")[2]: v for v in model.weights}
    for weight in reference.weights:
        if "seed" not in weight.path:
            weight.assign(named.pop(weight.path.partition("/")[2]))
    assert not named
    np.testing.assert_allclose(run(model), run(reference), atol=1e-5)


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_packed_texts_equal_separate_texts(positions):
    model = modern(positions=positions)
    packed = {name: values[:1] for name, values in FEATURES.items() if name != "padding_mask"}
    together = run(model, {**packed, "sequence_ids": np.array([[1, 1, 1, 2, 2, 2, 0]])})[0]
    for begin, end in ((0, 3), (3, 6)):
        alone = run(model, {name: values[:, begin:end] for name, values in packed.items()})[0]
        np.testing.assert_allclose(together[begin:end], alone, atol=1e-5)


def test_padding_changes_nothing():
    model = modern()
    answer = run(model)
    changed = {**FEATURES, "token_ids": np.where(REAL, FEATURES["token_ids"], 7)}
    np.testing.assert_allclose(run(model, changed)[REAL], answer[REAL], atol=1e-6)
    longer = {name: np.pad(value, [(0, 0), (0, 3)]) for name, value in FEATURES.items()}
    np.testing.assert_allclose(run(model, longer)[:, :7][REAL], answer[REAL], atol=1e-5)


def test_each_option_is_independent():
    paths = {v.path for v in modern().weights}
    assert not any(path.endswith(("bias", "beta")) for path in paths if "pooler" not in path)
    assert "modern_bert/embeddings/position/embeddings" not in paths
    for key, value in PLAIN.items():
        assert {v.path for v in modern(**{key: value}).weights} != paths or key == "activation"
    assert modern(activation="gelu").count_params() < modern().count_params()


def test_configuration_round_trips_with_equal_names():
    model = modern(activation="reglu", dropout=0.1)
    twin = ModernBert.from_config(model.get_config())
    assert [v.path for v in twin.variables] == [v.path for v in model.variables]
    assert len({v.path for v in model.variables}) == len(model.variables)
    twin.set_weights(model.get_weights())
    np.testing.assert_array_equal(run(twin), run(model))


def test_depth_groups_have_every_trainable_variable_once():
    model = modern()
    groups = model.depth_groups()
    assert len(groups) == 4
    paths = [v.path for group in groups for v in group]
    assert sorted(paths) == sorted(v.path for v in model.trainable_variables)


def test_bfloat16_is_about_the_same():
    model = modern(initializer_range=0.1)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = modern(initializer_range=0.1)
    finally:
        keras.config.set_dtype_policy("float32")
    half.set_weights(model.get_weights())
    answer = keras.ops.cast(half(FEATURES)["sequence_output"], "float32")
    np.testing.assert_allclose(keras.ops.convert_to_numpy(answer)[REAL], run(model)[REAL], atol=0.15)


PUBLISHED = {
    "num_layers": 3,
    "num_segments": 0,
    "local_attention": 4,
    "rotary_base": 160000.0,
    "local_rotary_base": 10000.0,
    "normalization": "layer_norm_no_bias",
    "first_norm": False,
    "head_bias": False,
}


def test_options_of_the_published_model_meet_the_contract():
    model = modern(**PUBLISHED)
    check_encoder(model, FEATURES)
    paths = {v.path for v in model.weights}
    assert not any(path.endswith(("bias", "beta")) for path in paths if "pooler" not in path)
    assert "modern_bert/block_0/attention_norm/gamma" not in paths
    assert (model.head_normalization, model.head_use_bias) == ("layer_norm_no_bias", False)


def test_local_layers_see_their_neighbors():
    """Every second layer is local: it sees two tokens on each side. The other layers see the whole text."""
    model = modern(**{**PUBLISHED, "global_attention_every": 2})
    ids = np.arange(1, 11, dtype="int32")[None]
    weights = keras.ops.convert_to_numpy(model.attention({"token_ids": ids})["encoder"].weights)[0]
    distances = np.abs(np.arange(10)[:, None] - np.arange(10))
    for layer, is_local in enumerate([False, True, False]):
        assert ((weights[layer] > 0) == ((distances <= 2) | (not is_local))).all()


def test_local_layers_have_their_own_rotary_base():
    ids = {"token_ids": FEATURES["token_ids"]}
    same, other = modern(**PUBLISHED), modern(**PUBLISHED | {"local_rotary_base": 100.0})
    other.set_weights(same.get_weights())
    states = [[keras.ops.convert_to_numpy(x) for x in model(ids)["hidden_states"]] for model in (same, other)]
    np.testing.assert_array_equal(states[0][1], states[1][1])
    assert np.abs(states[0][2] - states[1][2]).max() > 1e-4
