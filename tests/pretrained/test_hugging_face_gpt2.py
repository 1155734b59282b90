"""GPT-2 folders of Hugging Face: names, tokens, refusals, and equality with transformers."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tests.pretrained import decoders
from tfattn import pretrained
from tfattn.errors import CheckpointError, DataError
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe


@pytest.mark.parametrize("prefix", ["", "transformer."], ids=["bare", "with a head"])
def test_import(tmp_path, same_weights, prefix):
    gpt = decoders.random_gpt()
    weights = pretrained.open(decoders.write_gpt2(tmp_path, gpt, prefix=prefix))
    loaded = Gpt(**weights.sizes())
    report = weights.load_into(loaded)
    same_weights(loaded, gpt)
    assert (weights.model, report.unused, report.missing) == ("gpt", [], [])
    assert (loaded.dropout, loaded.attention_dropout) == (0.1, 0.2)


def test_the_default_intermediate_width_is_four_times_the_hidden_width(tmp_path):
    folder = decoders.write_gpt2(tmp_path, decoders.random_gpt(intermediate_dim=128), n_inner=None)
    assert pretrained.open(folder).sizes()["intermediate_dim"] == 128


def test_equals_transformers(tmp_path):
    config = {name: value for name, value in decoders.GPT2_CONFIG.items() if name != "n_inner"}
    (tmp_path / "config.json").write_text(json.dumps({**config, "eos_token_id": 0}))
    expected = decoders.logits_of_transformers("GPT2LMHeadModel", tmp_path, tmp_path)
    weights = pretrained.open(tmp_path)
    gpt = Gpt(**weights.sizes())
    weights.load_into(gpt)
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(decoders.logits(gpt), expected, atol=1e-4)


def test_tokens_match_the_files(tmp_path):
    weights = pretrained.open(decoders.write_gpt2(tmp_path, decoders.random_gpt()))
    tokenizer = ByteBpe(vocabulary="pretrained")
    assert tokenizer.adopted == {}
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    ids = tokenizer.split(tf.constant(["a pump 19"]))
    assert [tokenizer.tokens[number] for number in ids.values.numpy()] == ["a", "Ġpump", "Ġ", "19"]
    assert tokenizer.end_id == 0 and set(tokenizer.adopted) == {"vocabulary"}


def test_tokens_and_merges_that_do_not_match(tmp_path):
    weights = pretrained.open(decoders.write_gpt2(tmp_path, decoders.random_gpt()))
    with (tmp_path / "merges.txt").open("a") as file:
        file.write("pump Ġt\n")
    with pytest.raises(DataError, match="merges.txt:8: a merge makes an unknown token.*Take both files from the same"):
        weights.tokenization()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale_attn_by_inverse_layer_idx": True}, "expected scale_attn_by_inverse_layer_idx to be False"),
        ({"activation_function": "silu"}, "expected activation_function to be one of gelu, gelu_new"),
        ({"n_layer": "2"}, "expected num_layers to be an integer >= 1 and <= 1000, received '2'"),
        ({"n_layer": 1000}, "a tensor of the stated sizes is missing: expected .*h.999.attn"),
        ({"n_layer": 10**9}, "expected num_layers to be an integer >= 1 and <= 1000, received 1000000000"),
        ({"n_head": 5}, "expected num_key_value_heads to divide num_heads, and num_heads hidden_dim, received 5, 5"),
        ({"n_embd": 2**40}, "the sizes differ from the tensors"),
        ({"vocab_size": 2**40}, "wte.weight: the sizes differ from the tensors"),
        ({"n_positions": 2**40}, "wpe.weight: the sizes differ from the tensors"),
        ({"n_inner": 2**40}, "h.1.mlp.c_fc.weight: the sizes differ from the tensors"),
    ],
)
def test_unsupported_or_oversized_models_are_refused(tmp_path, changes, message):
    weights = pretrained.open(decoders.write_gpt2(tmp_path, decoders.random_gpt(), **changes))
    with pytest.raises(CheckpointError, match=message):
        weights.sizes()


def test_variables_without_a_tensor_name_are_missing(tmp_path):
    weights = pretrained.open(decoders.write_gpt2(tmp_path, decoders.random_gpt()))
    with pytest.raises(CheckpointError, match="1 of 29 tensors are missing: expected lm_head.weight.*whole `gpt`"):
        weights.load_into(Gpt(**{**weights.sizes(), "tied": False}))
