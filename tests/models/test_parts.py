"""Normalizations and activations are options of every model with Transformer blocks."""

import inspect

import keras
import numpy as np
import pytest

from tfattn import catalog, registry
from tfattn.config.types import Activation, Normalization
from tfattn.errors import ConfigError
from tfattn.models.bert import Bert
from tfattn.models.deberta import Deberta
from tfattn.models.feature_map_transformer import FeatureMapTransformer
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.models.gpt import Gpt
from tfattn.models.modern_bert import ModernBert
from tfattn.models.transformer import Transformer
from tfattn.models.vit import Vit

SIZES = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}
TEXT = {**SIZES, "vocabulary_size": 20}
COLUMNS = {"num_numeric": 14, "category_counts": []}
OPTIONS = {
    Bert: TEXT,
    Deberta: TEXT,
    ModernBert: TEXT,
    Gpt: TEXT,
    Transformer: {**TEXT, "target_vocabulary_size": 20},
    Vit: {**SIZES, "image_size": 8, "patch_size": 4},
    FeatureTokenizerTransformer: {**SIZES, **COLUMNS},
    FeatureMapTransformer: {**COLUMNS, "num_heads": 2, "intermediate_dim": 16},
}
KINDS = pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)


def test_all_models_with_blocks_are_tested():
    found = (registry.find("models", name) for name in catalog.CATALOGS["models"])
    having = [kind for kind in found if "normalization" in inspect.signature(kind.__init__).parameters]
    assert {kind.__name__ for kind in having} == {kind.__name__ for kind in OPTIONS}


@KINDS
def test_all_normalizations_and_activations_are_options(kind):
    parameters = inspect.signature(kind.__init__).parameters
    assert parameters["activation"].annotation == Activation
    assert parameters["normalization"].annotation == Normalization


@KINDS
def test_options_reach_the_blocks(kind):
    usual, other = kind(**OPTIONS[kind]), kind(**OPTIONS[kind], normalization="none", activation="swiglu")
    assert any(weight.path.endswith("norm/gamma") for weight in usual.weights)
    assert not any("norm/gamma" in weight.path for weight in other.weights)
    gated = [weight.path for weight in other.weights if "intermediate/kernel" in weight.path]
    widths = {weight.shape[-1] for weight in other.weights if "intermediate/kernel" in weight.path}
    assert gated and widths == {32}


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Gpt, {}, "a decoder would see later tokens.*expected layer_norm, .*rms_norm, none"),
        (Transformer, {}, "a decoder would see later tokens.*decoder_normalization: layer_norm"),
        (Bert, {"num_layers": 2, "num_distinct_blocks": 1}, "shared weights have different means"),
    ],
)
def test_batch_normalization_is_refused_with_the_reason(kind, options, message):
    with pytest.raises(ConfigError, match=message):
        kind(**OPTIONS[kind] | options, normalization="batch_norm")


IDS = np.array([[5, 6, 7, 0, 0], [8, 9, 4, 3, 2]], "int32")
TEXTS = {"token_ids": IDS, "padding_mask": IDS > 0}
ROWS = {"numeric": np.random.default_rng(0).normal(size=(2, 14)).astype("float32")}
IMAGES = {"images": np.random.default_rng(0).random((2, 8, 8, 3)).astype("float32")}
NORMALIZED = {
    **dict.fromkeys((Bert, Deberta, ModernBert), (TEXTS, "sequence_output")),
    **dict.fromkeys((FeatureTokenizerTransformer, FeatureMapTransformer), (ROWS, "pooled_output")),
    Vit: (IMAGES, "sequence_output"),
}


@pytest.mark.every_backend
@pytest.mark.parametrize("kind", NORMALIZED, ids=lambda kind: kind.__name__)
def test_batch_normalization_reads_the_batch_in_training_only(kind):
    features, name = NORMALIZED[kind]
    dropout = {key: 0.0 for key in inspect.signature(kind.__init__).parameters if key.endswith("dropout")}
    model = kind(**OPTIONS[kind] | dropout, normalization="batch_norm")
    averages = [v for v in model.variables if v.path.endswith("moving_mean")]
    alone = {key: value[:1] for key, value in features.items()}

    def output(features, **options):
        return keras.ops.convert_to_numpy(model(features, **options)[name])[0]

    np.testing.assert_allclose(output(alone), output(features), atol=1e-5)
    assert averages and not any(keras.ops.convert_to_numpy(v).any() for v in averages)
    trained = output(features, training=True)
    assert np.abs(output(alone, training=True) - trained).max() > 1e-3
    assert all(keras.ops.convert_to_numpy(v).any() for v in averages)
    if features is TEXTS:
        changed = {**features, "token_ids": np.where(IDS == 0, 11, IDS)}
        np.testing.assert_allclose(output(changed, training=True)[:3], trained[:3], atol=1e-5)


def test_an_encoder_decoder_may_have_batch_normalization_in_its_encoder():
    model = Transformer(
        **OPTIONS[Transformer], norm="pre", normalization="batch_norm", decoder_normalization="rms_norm"
    )
    averaged = {v.path.split("/")[1] for v in model.variables if v.path.endswith("moving_mean")}
    assert averaged == {"encoder_0", "encoder_norm"}


def test_a_masked_lm_head_has_an_ungated_activation():
    assert Bert(**TEXT, activation="geglu").head_activation == "gelu"
    assert Bert(**TEXT, activation="tanh").head_activation == "tanh"
