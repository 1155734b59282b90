"""DeBERTa: equal to the formulas and to transformers, and independent of padding."""

import keras
import numpy as np
import pytest

from tests.contracts.encoder import check_encoder
from tfattn.layers.disentangled_bias import distance_buckets
from tfattn.models.deberta import Deberta

SIZES = {"vocabulary_size": 50, "hidden_dim": 16, "num_layers": 2, "num_heads": 4, "intermediate_dim": 32}
RANGES = {"position_buckets": 4, "max_relative_positions": 6}  # some distances share a vector
DRAW = np.random.default_rng(0)
REAL = np.arange(9) < np.array([5, 9, 2])[:, None]
FEATURES = {"token_ids": DRAW.integers(1, 50, size=(3, 9)).astype("int32"), "padding_mask": REAL}


def deberta(**options):
    keras.utils.set_random_seed(0)
    return Deberta(**{**SIZES, **RANGES, "initializer_range": 0.3, "dropout": 0.0, **options})


def run(model, features=FEATURES):
    return keras.ops.convert_to_numpy(model(features)["sequence_output"])


def weights_of(model):
    return {v.path.removeprefix("deberta/"): keras.ops.convert_to_numpy(v).astype("float64") for v in model.weights}


def reference(model, features):
    """Compute the formulas of the paper in float64 with numpy, one pair of positions after another."""
    weights, heads = weights_of(model), model.num_heads
    buckets = distance_buckets(**dict(zip(("num_buckets", "max_distance"), RANGES.values(), strict=True)))

    def dense(x, name):
        return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + model.layer_norm_epsilon)
        return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def split(x, name):
        return np.moveaxis(dense(x, f"{name}/qkv").reshape(*x.shape[:-1], 3, heads, -1), -3, 0)

    relative = norm(weights["position_bias/relative/embeddings"], "position_bias/norm")

    def attention(x, name):
        (query, key, value), (position_query, position_key, _) = split(x, name), split(relative, name)
        batch, length = x.shape[:2]
        scores = np.zeros((batch, heads, length, length))
        for t in range(length):
            for s in range(length):
                distance = np.clip(t - s, -RANGES["max_relative_positions"], RANGES["max_relative_positions"])
                index = buckets[distance + RANGES["max_relative_positions"]]
                terms = query[:, t] * key[:, s] + query[:, t] * position_key[index] + key[:, s] * position_query[index]
                scores[:, :, t, s] = terms.sum(-1) / np.sqrt(3 * query.shape[-1])
        scores = np.exp(np.where(features["padding_mask"][:, None, None], scores, -np.inf))
        means = np.einsum("bhts,bshk->bthk", scores / scores.sum(-1, keepdims=True), value)
        return dense(means.reshape(x.shape), f"{name}/output")

    x = norm(weights["embeddings/token/embeddings"][features["token_ids"]], "embeddings/norm")
    for block in (f"block_{index}" for index in range(model.num_layers)):
        x = norm(x + attention(x, f"{block}/attention"), f"{block}/attention_norm")
        inner = gelu(dense(x, f"{block}/feed_forward/intermediate"))
        x = norm(x + dense(inner, f"{block}/feed_forward/output"), f"{block}/feed_forward_norm")
    return x


@pytest.mark.every_backend
def test_equals_the_formulas():
    model = deberta(activation="gelu_approximate")
    np.testing.assert_allclose(run(model)[REAL], reference(model, FEATURES)[REAL], atol=1e-5)


def test_equals_transformers():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.DebertaV2Config(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        type_vocab_size=0,
        relative_attention=True,
        position_buckets=8,
        max_position_embeddings=24,
        pos_att_type=["c2p", "p2c"],
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        position_biased_input=False,
    )
    torch.manual_seed(0)
    theirs = transformers.DebertaV2Model(config).eval()
    ours = deberta(position_buckets=8, max_relative_positions=24)
    weights = {variable.path.removeprefix("deberta/"): variable for variable in ours.weights}
    tensors = {}
    for name, parameter in theirs.named_parameters():
        parameter.data = torch.randn_like(parameter) * 0.3
        tensors[name] = parameter.detach().numpy()

    def assign(name, their_names):
        parts = [tensors.pop(their_name) for their_name in their_names]
        weights.pop(name).assign(np.concatenate([part.T if "kernel" in name else part for part in parts], axis=-1))

    assign("embeddings/token/embeddings", ["embeddings.word_embeddings.weight"])
    assign("position_bias/relative/embeddings", ["encoder.rel_embeddings.weight"])
    norms = {"embeddings/norm": "embeddings.LayerNorm", "position_bias/norm": "encoder.LayerNorm"}
    maps = {}
    for index in range(2):
        layer, block = f"encoder.layer.{index}", f"block_{index}"
        maps[f"{block}/attention/qkv"] = [f"{layer}.attention.self.{part}_proj" for part in ("query", "key", "value")]
        maps[f"{block}/attention/output"] = [f"{layer}.attention.output.dense"]
        maps[f"{block}/feed_forward/intermediate"] = [f"{layer}.intermediate.dense"]
        maps[f"{block}/feed_forward/output"] = [f"{layer}.output.dense"]
        norms[f"{block}/attention_norm"] = f"{layer}.attention.output.LayerNorm"
        norms[f"{block}/feed_forward_norm"] = f"{layer}.output.LayerNorm"
    for name, theirs_name in norms.items():
        assign(f"{name}/gamma", [f"{theirs_name}.weight"])
        assign(f"{name}/beta", [f"{theirs_name}.bias"])
    for name, their_names in maps.items():
        assign(f"{name}/kernel", [f"{their_name}.weight" for their_name in their_names])
        assign(f"{name}/bias", [f"{their_name}.bias" for their_name in their_names])
    assert not tensors and all("pooler" in name for name in weights)

    mask = np.arange(24) < np.array([24, 17])[:, None]
    token_ids = np.random.default_rng(1).integers(1, 50, size=(2, 24))
    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor(token_ids), attention_mask=torch.tensor(mask), output_hidden_states=True
        ).hidden_states
    answer = ours({"token_ids": token_ids.astype("int32"), "padding_mask": mask})["hidden_states"]
    for our_states, their_states in zip(answer, expected, strict=True):
        np.testing.assert_allclose(np.asarray(our_states)[mask], their_states.numpy()[mask], atol=1e-4)


def test_meets_the_contract_of_encoders():
    check_encoder(deberta(), FEATURES)


def test_attention_depends_on_distances_alone():
    """Moved to the right by padding, a text has the same vectors; with its words in another order, it has others."""
    model = deberta()
    ids, mask = FEATURES["token_ids"][:1], np.ones((1, 9), bool)
    moved = {"token_ids": np.pad(ids, ((0, 0), (3, 0))), "padding_mask": np.pad(mask, ((0, 0), (3, 0)))}
    answer = run(model, {"token_ids": ids})
    np.testing.assert_allclose(run(model, moved)[:, 3:], answer, atol=1e-5)
    assert np.abs(run(model, {"token_ids": ids[:, ::-1]})[:, ::-1] - answer).max() > 0.1


def test_texts_packed_into_a_row_are_read_as_each_alone():
    model, ids = deberta(), FEATURES["token_ids"][:1]
    together = run(model, {"token_ids": ids, "sequence_ids": np.array([[1, 1, 1, 1, 2, 2, 2, 2, 2]])})
    for start, end in ((0, 4), (4, 9)):
        np.testing.assert_allclose(together[:, start:end], run(model, {"token_ids": ids[:, start:end]}), atol=1e-5)


def test_segments_are_optional():
    segment_ids = (np.arange(9) > 4).astype("int32") * np.ones((3, 1), "int32")
    without, with_two = deberta(), deberta(num_segments=2)
    np.testing.assert_array_equal(run(without), run(without, {**FEATURES, "segment_ids": segment_ids}))
    assert np.abs(run(with_two) - run(with_two, {**FEATURES, "segment_ids": segment_ids})).max() > 0.1
