"""Tokenizers of GGUF files: ids, kinds of tokens, starts and chats."""

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from tests.preprocessing.test_piece_bpe import trained
from tests.pretrained.decoders import MERGES, SPECIAL, TOKENS
from tests.pretrained.test_hugging_face_tokens import TEXTS, adopted, byte_level
from tfattn.preprocessing.sentencepiece_proto import CONTROL, USER_DEFINED, Proto
from tfattn.pretrained.gguf_tokens import read_tokens

SIZE = len(TOKENS)


def byte_metadata(pre, **changes):
    """Return the metadata of byte-level BPE; names without the prefix."""
    values = {
        "model": "gpt2",
        "pre": pre,
        "tokens": list(TOKENS),
        "token_type": np.array([CONTROL if token in SPECIAL else 1 for token in TOKENS]),
        "merges": [" ".join(pair) for pair in MERGES],
        "eos_token_id": SIZE - 1,
        "bos_token_id": SIZE - 2,
        **changes,
    }
    return {f"tokenizer.ggml.{name}": value for name, value in values.items()}


@pytest.mark.parametrize(
    ("pre", "pattern", "normalizes", "starts"),
    [
        ("gpt-2", "gpt2", False, False),
        ("smollm", "digits", False, False),
        ("llama-bpe", "llama3", False, True),
        ("qwen2", "qwen2", True, False),
        ("olmo", "gpt2", True, False),
    ],
)
def test_byte_level_tokens(pre, pattern, normalizes, starts):
    from tokenizers import normalizers

    found = adopted(read_tokens(byte_metadata(pre), "x.gguf", size=SIZE))
    reference = byte_level(pattern, normalizer=normalizers.NFC() if normalizes else None)
    assert found.split(tf.constant(TEXTS)).to_list() == [one.ids for one in reference.encode_batch(TEXTS)]
    assert found.start_token == (TOKENS[-2] if starts else None) and found.end_id == SIZE - 1


def test_a_stated_start_counts():
    for adds in (False, True):
        found = adopted(read_tokens(byte_metadata("llama-bpe", add_bos_token=adds), "x.gguf", size=SIZE))
        assert found.start_ids == ((SIZE - 2,) if adds else ())


def test_user_defined_tokens_are_found_in_texts():
    kinds = byte_metadata("qwen2")["tokenizer.ggml.token_type"].copy()
    kinds[SIZE - 2] = USER_DEFINED
    found = adopted(read_tokens(byte_metadata("qwen2", token_type=kinds), "x.gguf", size=SIZE + 1))
    assert found.split(tf.constant([f"x{TOKENS[-2]}"])).to_list() == [[TOKENS.index("x"), SIZE - 2]]
    assert len(found.tokens) == SIZE + 1


@pytest.mark.parametrize(
    ("template", "expected"), [(None, "chatml"), ("<|start_header_id|>", "llama3"), ("<|user|>", None)]
)
def test_the_chat_template(template, expected):
    metadata = byte_metadata("gpt-2")
    if template is not None:
        metadata["tokenizer.chat_template"] = template
    assert adopted(read_tokens(metadata, "x.gguf", size=SIZE)).chat_format == expected


@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_pieces(kind):
    reference = sentencepiece.SentencePieceProcessor(model_proto=trained(kind))
    pieces = Proto.decode(trained(kind), "").pieces
    values = {
        "model": "llama",
        "tokens": [piece.text for piece in pieces],
        "scores": np.array([piece.score for piece in pieces], "float32"),
        "token_type": np.array([piece.kind for piece in pieces]),
        "bos_token_id": reference.bos_id(),
        "eos_token_id": reference.eos_id(),
        **({"add_space_prefix": False} if kind == "gemma" else {}),
    }
    metadata = {f"tokenizer.ggml.{name}": value for name, value in values.items()}
    found = adopted(read_tokens(metadata, "x.gguf", size=len(pieces) + 2))
    documents = found.split_documents(tf.constant(TEXTS)).to_list()
    assert documents == [[reference.bos_id(), *reference.encode(text)] for text in TEXTS]
    assert (found.chat_template(), len(found.tokens)) == (None, len(pieces) + 2)
