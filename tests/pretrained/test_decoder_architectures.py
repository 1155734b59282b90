"""Decoders of transformers: logits of random weights, with and without the cache, are those of transformers.

The expected logits are stored, because torch is not always installed: `python -m tests.pretrained.decoder_logits`
writes them again. The weights follow from the names of the tensors.
"""

import json

import numpy as np
import pytest

from benchmarks import architecture_reference, peers
from benchmarks.decoders import DECODERS, logits, run_reference
from tests.pretrained.decoder_logits import stored
from tfattn import pretrained
from tfattn.errors import CheckpointError, ConfigError
from tfattn.models.gpt import Gpt

NAMES = pytest.mark.parametrize("name", DECODERS)


def write(folder, name, **changes):
    """Write a folder as transformers does, without its tokenizer."""
    config = {**DECODERS[name].config, **changes}
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value != "none"}))
    architecture_reference.write_weights(folder, stored(name)["tensors"])
    return folder


@NAMES
def test_logits_are_those_of_transformers(tmp_path, name):
    expected = np.array(stored(name)["logits"])
    assert np.ptp(expected) > 1
    for found in logits(write(tmp_path, name)):
        np.testing.assert_allclose(found, expected, atol=1e-4)


@NAMES
def test_stored_logits_are_those_of_the_installed_transformers(tmp_path, name):
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    np.testing.assert_allclose(stored(name)["logits"], run_reference(DECODERS[name], tmp_path), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("llama", {"rope_theta": "none", "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}}),
        (
            "gemma3_text",
            {
                "rope_theta": "none",
                "rope_scaling": "none",
                "rope_local_base_freq": "none",
                "sliding_window_pattern": "none",
                "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
                "rope_parameters": {
                    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 500.0},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                },
            },
        ),
        (
            "gpt_neox",
            {
                "rotary_pct": "none",
                "rotary_emb_base": "none",
                "rope_parameters": {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5},
            },
        ),
        ("smollm3", {"no_rope_layers": "none", "no_rope_layer_interval": 4}),
        ("qwen2", {"max_window_layers": "none", "layer_types": ["full_attention"] * 2 + ["sliding_attention"] * 2}),
    ],
)
def test_newer_and_older_keys_mean_the_same(tmp_path, name, changes):
    expected = pretrained.open(write(tmp_path, name)).sizes()
    assert pretrained.open(write(tmp_path, name, **changes)).sizes() == expected


def test_yarn_has_the_defaults_of_transformers(tmp_path):
    yarn = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
    plain = pretrained.open(write(tmp_path, "llama, yarn scaling", rope_scaling=yarn)).sizes()["rotary_scaling"]
    stated = {**yarn, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 0.0, "truncate": True}
    same = pretrained.open(write(tmp_path, "llama, yarn scaling", rope_scaling=stated)).sizes()["rotary_scaling"]
    assert plain == same and plain["attention_factor"] == pytest.approx(1 + 0.1 * np.log(4))
    other = {**yarn, "attention_factor": 0.9, "factor": None}
    found = pretrained.open(write(tmp_path, "llama, yarn scaling", rope_scaling=other)).sizes()["rotary_scaling"]
    assert (found["attention_factor"], found["factor"]) == (0.9, 64 / 16)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "llama",
            {"rope_scaling": {"rope_type": "longrope"}},
            "rope_type to be default, dynamic, linear",
        ),
        ("llama", {"rope_scaling": {"type": "linear", "factor": "4"}}, "factor to be a number above 0, received 4"),
        ("llama", {"rope_scaling": [1]}, "rope_parameters to be a mapping"),
        ("llama", {"hidden_act": "quick_gelu"}, "hidden_act to be one of silu, gelu, .*received quick_gelu"),
        ("llama", {"quantization_config": {"quant_method": "gptq"}}, "quantization_config to be None"),
        ("llama", {"head_dim": 7}, "o_proj.weight: the sizes differ from the tensors"),
        ("llama", {"rms_norm_eps": "1e-5"}, "epsilon to be a number > 0, received '1e-5'"),
        (
            "qwen2",
            {"layer_types": ["full_attention"]},
            "layer_types to be full_attention or sliding_attention",
        ),
        ("smollm3", {"use_sliding_window": True}, "use_sliding_window to be False"),
        ("smollm3", {"no_rope_layers": [1]}, "no_rope_layers to be 0 or 1 for each of 4 layers"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "use_bidirectional_attention to be None or False"),
        (
            "gemma3_text",
            {"rope_scaling": "none", "rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 2.0}}},
            "rope_parameters.sliding_attention.rope_type to be default",
        ),
        ("gemma2", {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar to be a number above 0"),
    ],
)
def test_unsupported_options_are_refused_by_name(tmp_path, name, changes, message):
    weights = pretrained.open(write(tmp_path, name, **changes))
    with pytest.raises(CheckpointError, match=f"config.json: not supported: expected {message}|{message}"):
        weights.sizes()


@pytest.mark.parametrize(
    ("model_type", "nearest"),
    [("llama4", "llama"), ("qwen2_moe", "qwen2"), ("gemma3", "gemma3_text"), ("mixtral", "mistral")],
)
def test_an_unsupported_architecture_is_refused_with_the_nearest(tmp_path, model_type, nearest):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    with pytest.raises(ConfigError, match=f"the architecture .*received {model_type}.*`{nearest}`"):
        pretrained.open(tmp_path)


def test_tensors_of_another_architecture_are_refused(tmp_path):
    (write(tmp_path, "qwen3") / "config.json").write_text(json.dumps(DECODERS["mistral"].config))
    with pytest.raises(CheckpointError, match="tensors of another architecture: expected those of mistral.*q_norm"):
        pretrained.open(tmp_path).sizes()


def test_the_options_of_a_model_are_plain_values(tmp_path):
    sizes = pretrained.open(write(tmp_path, "gemma3_text")).sizes()
    assert json.loads(json.dumps(sizes)) == sizes
    twin = Gpt.from_config(json.loads(json.dumps(Gpt(**sizes).get_config())))
    assert [block.attention.rotary_base for block in twin.blocks] == [100.0, 100.0, 500.0, 100.0]
