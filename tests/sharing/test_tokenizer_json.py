"""Tokenizers as tokenizer.json: the package tokenizers gives the ids of the preprocessing."""

import json

import pytest
import tensorflow as tf
from tokenizers import Tokenizer

from tests.preprocessing.test_piece_bpe import trained
from tests.pretrained import decoders
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.preprocessing.piece_bpe import PieceBpe
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary
from tfattn.pretrained.hugging_face_tokens import read_tokens
from tfattn.sharing import tokenizer_json
from tfattn.sharing.probes import TEXTS

MORE = ("The pump's seal leaks 19 times.", "  pumps<table>\n\n\tThe é é", "泵漏了", "a")


def ids(content, texts):
    tokenizer = Tokenizer.from_str(json.dumps(content))
    return [tokenizer.encode(text).ids for text in texts]


@pytest.mark.parametrize("pattern", ["gpt2", "digits", "llama3", "qwen2"])
@pytest.mark.parametrize("normalization", [None, "nfc"])
def test_byte_level_bpe(pattern, normalization, tmp_path):
    special = (*decoders.SPECIAL, "<s>")
    known = ByteVocabulary((*decoders.TOKENS, "<s>", "<table>"), tuple(decoders.MERGES), special, ("<table>",))
    adopted = {"vocabulary": known, "pattern": pattern, "end_token": decoders.END, "start_token": "<s>"}
    adopted |= {"normalization": normalization, "chat_format": None}
    language = ByteBpe(vocabulary="pretrained", max_length=200)
    language.adopt(**adopted)
    language.fit([])
    content = tokenizer_json.byte_bpe(adopted)
    texts = [*TEXTS, *MORE]
    assert ids(content, texts) == language.split_documents(tf.constant(texts)).to_list()
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": decoders.END}))
    read = read_tokens(tmp_path, {}, size=len(known.tokens)).arguments
    assert {**read, "vocabulary": None} == {**adopted, "vocabulary": None, "chat_format": "chatml"}  # the default
    assert (read["vocabulary"].merges, read["vocabulary"].text_tokens) == (known.merges, ("<table>",))


@pytest.mark.parametrize(("kind", "prefix"), [("llama", "always"), ("llama", "unless_blank"), ("gemma", "never")])
def test_bpe_of_whole_texts(kind, prefix, tmp_path):
    vocabulary = PieceVocabulary(PieceVocabulary.read(trained(kind), where="").proto, prefix)
    end, start = ("</s>", "<s>") if kind == "llama" else ("<eos>", "<bos>")
    end, start = (end, start) if end in vocabulary.tokens else ("</s>", "<s>")
    adopted = {"vocabulary": vocabulary, "end_token": end, "start_token": start, "chat_format": None}
    language = PieceBpe()
    language.adopt(**adopted)
    language.fit([])
    content = tokenizer_json.piece_bpe(adopted)
    texts = [text for text in (*TEXTS, *MORE) if text.isprintable() or kind == "gemma"]
    assert ids(content, texts) == language.split_documents(tf.constant(texts)).to_list()
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": end}))
    read = read_tokens(tmp_path, {}, size=len(vocabulary.tokens)).arguments
    assert read["vocabulary"].prefix == prefix and (read["end_token"], read["start_token"]) == (end, start)
    again = PieceBpe()
    again.adopt(**read)
    again.fit([])
    assert again.split_documents(tf.constant(texts)).to_list() == ids(content, texts)
