"""Low-rank adapters: the start is the model alone, only the adapter is trained, and merging changes no output."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.contracts.layer import check_layer
from tfattn.errors import ConfigError
from tfattn.layers.adapters import adapters, merge, projections
from tfattn.layers.lora import Lora, LowRankUpdate
from tfattn.models.bert import Bert
from tfattn.models.gpt import Gpt

DRAW = np.random.default_rng(0)
IDS = DRAW.integers(1, 30, size=(2, 5)).astype("int32")
TEXTS = {"token_ids": IDS, "padding_mask": np.ones((2, 5), bool), "segment_ids": np.zeros((2, 5), "int32")}
SIZES = {"vocabulary_size": 30, "hidden_dim": 8, "num_layers": 2, "num_heads": 2, "intermediate_dim": 12}


class WithSecondFactors(LowRankUpdate):
    """With second factors that are not 0, so that first factors have gradients."""

    def build(self, input_shape):
        super().build(input_shape)
        for _, second in self.factors.values():
            second.assign(np.linspace(-1, 1, np.prod(second.shape)).reshape(second.shape))


def bert(**options):
    return Bert(**SIZES, **{"dropout": 0.0, **options})


def output(model):
    return np.asarray(model(TEXTS)["sequence_output"])


def randomize(model):
    for layer in adapters(model).values():
        for pair in layer.factors.values():
            for factor in pair:
                factor.assign(DRAW.normal(size=factor.shape))


@pytest.mark.every_backend
def test_update_keeps_the_contract_of_layers(tmp_path):
    arguments = {"rank": 2, "alpha": 3.0, "widths": [4, 2, 3], "names": {"0": "query", "2": "value"}}
    x = DRAW.normal(size=(3, 8)).astype("float32")
    check_layer(WithSecondFactors, arguments, x, output_shape=(3, 9), folder=tmp_path)


@pytest.mark.every_backend
def test_the_start_is_the_model_alone_and_merging_changes_no_output():
    model = bert(activation="geglu")
    before, paths = output(model), [weight.path for weight in model.weights]
    Lora(rank=2, alpha=4, targets=["query", "value", "feed_forward"]).attach(model)
    np.testing.assert_array_equal(output(model), before)
    randomize(model)
    changed = output(model)
    assert np.abs(changed - before).max() > 0.1
    kernel = next(np.asarray(x.kernel()) for x in adapters(model).values() if "query" in x.names.values())
    assert np.abs(kernel[:, 8:16]).max() == 0 < np.abs(kernel[:, :8]).max()  # keys do not change
    merge(model)
    np.testing.assert_allclose(output(model), changed, atol=1e-5)
    assert [weight.path for weight in model.weights] == paths


def test_only_the_adapter_is_trained():
    model = bert()
    Lora(rank=2, targets=["query", "intermediate"]).attach(model)
    names = [f"bert/block_{n}/{path}_{factor}" for n in (0, 1) for path in PATHS for factor in "ab"]
    assert sorted(weight.path for weight in model.trainable_weights) == sorted(names)
    assert {tuple(weight.shape) for weight in model.trainable_weights} == {(8, 2), (2, 8), (2, 12)}


PATHS = ("attention/qkv/lora/query", "feed_forward/intermediate/lora/intermediate")


def test_dropout_is_of_the_input_of_the_adapter():
    layer = LowRankUpdate(rank=2, alpha=2.0, widths=[3], names={"0": "query"}, dropout=0.5)
    layer.build((None, 64))
    x = ops.ones((4, 64))
    layer.factors[0][1].assign(np.ones((2, 3)))
    assert np.abs(np.asarray(layer(x, training=True)) - np.asarray(layer(x))).max() > 0
    np.testing.assert_array_equal(layer(x), layer(x))


@pytest.mark.parametrize(("norm", "activation", "count"), [("pre", "gelu", 4), ("pre", "swiglu", 5)])
def test_groups_are_all_maps_of_a_layer(norm, activation, count):
    model = Gpt(**SIZES, max_sequence_length=8, num_key_value_heads=1, activation=activation)
    Lora(rank=1, targets=["attention", "feed_forward"]).attach(model)
    assert len(adapters(model)) == len(projections(model)) == 8
    names = {name for layer in adapters(model).values() for name in layer.names.values()}
    assert len(names) == count + 2 and ("gate" in names) == (activation == "swiglu")
    keys = next(layer for layer in adapters(model).values() if "key" in layer.names.values())
    assert keys.factors[1][1].shape == (1, 4)  # of one group


def test_a_target_that_matches_nothing_is_refused():
    with pytest.raises(
        ConfigError, match="matches nothing: expected maps of the model: .*query, .*received quary"
    ) as error:
        Lora(targets=["value", "quary"]).attach(bert())
    assert "query" in error.value.remedy
    with pytest.raises(ConfigError, match="received gate"):
        Lora(targets=["gate"]).attach(bert())
    model = keras.Sequential([keras.layers.Dense(2)])
    with pytest.raises(ConfigError, match="expected a model with attention"):
        Lora().attach(model)
