"""Normalizations and activations are options of every model with Transformer blocks."""

import inspect

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


@KINDS
def test_normalization_over_a_batch_is_refused_with_the_reason(kind):
    with pytest.raises(ConfigError, match="computed over the whole batch.*expected layer_norm, .*rms_norm, none"):
        kind(**OPTIONS[kind], normalization="batch_norm")


def test_a_masked_lm_head_has_an_ungated_activation():
    assert Bert(**TEXT, activation="geglu").head_activation == "gelu"
    assert Bert(**TEXT, activation="tanh").head_activation == "tanh"
