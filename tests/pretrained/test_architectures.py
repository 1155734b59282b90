"""Each architecture of transformers: the same outputs for the same weights, and refusals."""

import json

import numpy as np
import pytest

from benchmarks import architectures, peers
from benchmarks.architectures import ARCHITECTURES, COMPARED, difference, outputs, run_reference
from tests.pretrained import architecture_fixtures as stored
from tests.pretrained import tokenizer_folders
from tfattn import pretrained
from tfattn.errors import CheckpointError, ConfigError
from tfattn.preprocessing.pretrained_tokenizer import PretrainedTokenizer

TOLERANCE = 1e-4


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_outputs_equal_the_stored_outputs_of_transformers(tmp_path, name):
    stored.write_folder(name, tmp_path)
    expected, received = stored.read(name), outputs(ARCHITECTURES[name], tmp_path)
    received["sequence_output"] = received["hidden_states"][-1]
    real = (np.arange(architectures.TOKENS) < np.array(architectures.LENGTHS)[:, None])[:, :: stored.STEP]
    for output in {"sequence_output", "logits"} & expected.keys():
        ours = received[output][:, :: stored.STEP]
        np.testing.assert_allclose(ours[real], np.array(expected[output])[real], atol=TOLERANCE, err_msg=output)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_outputs_equal_transformers(tmp_path, name):
    """With torch installed, all outputs are compared, and the stored outputs are those of its version."""
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    expected = run_reference(ARCHITECTURES[name], tmp_path)
    fresh, kept = stored.of(expected, tmp_path), stored.read(name)
    assert fresh.keys() == kept.keys() and fresh["tensors"] == kept["tensors"]
    for output in {"sequence_output", "logits"} & kept.keys():
        np.testing.assert_allclose(fresh[output], kept[output], atol=TOLERANCE, err_msg=output)
    found = difference(outputs(ARCHITECTURES[name], tmp_path), expected)
    assert all(found[output] < TOLERANCE for output in COMPARED.keys() & fresh.keys()), found


@pytest.mark.parametrize(("model_type", "similar"), [("deberta", "deberta-v2"), ("xlm-roberta-xl", "xlm-roberta")])
def test_an_unknown_architecture_is_refused_with_the_most_similar(tmp_path, model_type, similar):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    message = rf"the architecture is not supported: expected model_type .*albert, bert, .*received {model_type}"
    message += rf". The nearest is `{similar}`"
    with pytest.raises(ConfigError, match=message):
        pretrained.open(tmp_path)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("bert", {"hidden_act": "swish"}, "expected hidden_act to be one of gelu, .*, received swish"),
        (
            "bert",
            {"position_embedding_type": "relative_key"},
            "expected position_embedding_type to be absolute, received relative_key",
        ),
        ("roberta", {"pad_token_id": 0}, "expected pad_token_id to be 1, received 0"),
        ("electra", {"hidden_act": "relu"}, "expected hidden_act to be gelu, received relu"),
        ("albert", {"inner_group_num": 2}, "expected inner_group_num to be 1, received 2"),
        (
            "mpnet",
            {"relative_attention_num_buckets": 16},
            "expected relative_attention_num_buckets to be 32, received 16",
        ),
        ("deberta_v2", {"conv_kernel_size": 3}, "expected conv_kernel_size to be 0 or None, received 3"),
        ("deberta_v2", {"pos_att_type": "c2p"}, r"config.json: .*expected pos_att_type to be c2p\|p2c, received c2p"),
        ("deberta_v2", {"embedding_size": 8}, "expected embedding_size to be 16, received 8"),
        ("deberta_v2", {"position_buckets": -1}, "expected position_buckets to be above 1, received -1"),
        (
            "modernbert",
            {"layer_types": ["full_attention", "full_attention", "sliding_attention", "sliding_attention"]},
            "expected layer_types to be full_attention in every 1th layer",
        ),
        (
            "modernbert",
            {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
            "expected rope_parameters.full_attention.rope_type to be default, received yarn",
        ),
        ("modernbert", {"mlp_bias": True}, "expected mlp_bias to be False, as attention_bias, received True"),
    ],
)
def test_unsupported_options_are_refused_by_name(tmp_path, name, changes, message):
    (tmp_path / "config.json").write_text(json.dumps({**ARCHITECTURES[name].config, **changes}))
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(tmp_path).sizes()


def test_modernbert_saved_by_newer_versions_has_the_same_sizes(tmp_path):
    """Newer versions list the kinds of layers, and group the settings of rotary positions by them."""
    config = dict(ARCHITECTURES["modernbert"].config)
    (tmp_path / "config.json").write_text(json.dumps(config))
    sizes = pretrained.open(tmp_path).sizes()
    for key in ("global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"):
        del config[key]
    config["layer_types"] = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    config["rope_parameters"] = {
        "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert pretrained.open(tmp_path).sizes() == sizes


def test_the_tokenizer_of_a_bert_may_be_of_another_kind(tmp_path):
    """The multilingual E5 models are BERTs with the tokenizer of XLM-R."""
    (tmp_path / "config.json").write_text(json.dumps(ARCHITECTURES["bert"].config))
    assert pretrained.open(tmp_path).preprocessor == "wordpiece"
    tokenizer_folders.xlm_roberta(tmp_path)
    weights = pretrained.open(tmp_path)
    assert weights.preprocessor == "pretrained_tokenizer"
    tokenizer = PretrainedTokenizer()
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    assert (tokenizer.special.start, tokenizer.special.mask) == ("<s>", "<mask>")
    tokenizer_folders.bert(tmp_path)
    assert pretrained.open(tmp_path).preprocessor == "wordpiece"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"tokenizer_class": "BertJapaneseTokenizer"},
            "expected tokenizer_class to be BertTokenizer or .*received Bert",
        ),
        ({"tokenize_chinese_chars": False}, "expected tokenize_chinese_chars to be True, received False"),
    ],
)
def test_other_tokenizers_of_bert_are_refused_by_name(tmp_path, settings, message):
    (tmp_path / "config.json").write_text(json.dumps(ARCHITECTURES["bert"].config))
    tokenizer_folders.bert(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(tmp_path).tokenization()


@pytest.mark.parametrize("key", ["share_att_key", "relative_attention", "norm_rel_ebd", "position_biased_input"])
def test_a_key_of_deberta_that_is_not_given_has_the_default_of_transformers(tmp_path, key):
    config = {name: value for name, value in ARCHITECTURES["deberta_v2"].config.items() if name != key}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=f"expected {key} to be "):
        pretrained.open(tmp_path).sizes()
