"""Byte-level BPE: equal to the reference, lossless, without parsing of special tokens."""

import functools
import json

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tests.contracts.preprocessor import check_preprocessor
from tests.preprocessing.test_pre_tokenizer import NEW_DIGITS, REFERENCES, TELLING
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.byte_bpe import ByteBpe

START, STOP = "<|im_start|>", "<|im_end|>"
ROWS = [
    {"text": "The pump's seal leaks; the pumps' seals leaked 19 times, then 20 times."},
    {"text": "Die Pumpe läuft über, die Pumpen laufen über.\n\n泵漏了，泵漏了。\n"},
]


@functools.cache
def learned(pattern="gpt2"):
    tokenizer = ByteBpe(vocabulary_size=330, pattern=pattern, special_tokens=(START, STOP), max_length=24)
    tokenizer.fit(ROWS)
    return tokenizer


@functools.cache
def describe_reference(tokenizer):
    """The reference with the same vocabulary, without special tokens in texts: texts are data."""
    known = tokenizer._fitted
    reference = Tokenizer(models.BPE({token: number for number, token in enumerate(known.tokens)}, list(known.merges)))
    reference.pre_tokenizer = REFERENCES[tokenizer.pattern]
    return reference


@functools.cache
def graph_of(tokenizer):
    return tf.function(tokenizer.split, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


def encode(tokenizer, *texts):
    return graph_of(tokenizer)(tf.constant(texts, tf.string)).to_list()


def test_preprocessor_contract(tmp_path):
    other = ByteBpe(vocabulary_size=300, pattern="digits")
    check_preprocessor(learned(), other, ROWS, folder=tmp_path)
    assert (other.end_id, other.suppressed_ids, other.pattern) == (learned().end_id, learned().suppressed_ids, "gpt2")


@pytest.mark.parametrize("pattern", sorted(REFERENCES))
@settings(deadline=None)  # the first example makes the tables
@given(st.lists(st.text(st.sampled_from(TELLING + "pumseal") | st.characters(exclude_categories=["Cs"])), max_size=20))
def test_ids_equal_the_reference_and_texts_round_trip(pattern, texts):
    texts = [text for text in texts if not set(NEW_DIGITS) & set(text)]
    tokenizer = learned(pattern)
    found = encode(tokenizer, *texts)
    assert found == [one.ids for one in describe_reference(tokenizer).encode_batch(texts)]
    back = tokenizer.detokenize(tf.ragged.constant(found, tf.int32, ragged_rank=1))
    assert [text.decode() for text in back.numpy()] == texts


def test_invalid_utf8_is_read_as_the_replacement_character():
    assert encode(learned(), b"a\xff\xe2\x82b") == encode(learned(), "a\ufffd\ufffdb")


def test_special_tokens_are_not_parsed_in_texts():
    tokenizer = learned()
    special = {*tokenizer.end_ids, *tokenizer.suppressed_ids}
    assert {tokenizer.tokens[number] for number in special} == {"<|endoftext|>", START, STOP}
    (ids,) = encode(tokenizer, f"<|endoftext|>{START}user")
    assert not special & set(ids)
    assert tokenizer.end_ids == (tokenizer.end_id, tokenizer.special_token_id(STOP))
    assert tokenizer.special_token_id(START) in tokenizer.suppressed_ids and tokenizer.special_token_id("pump") is None
    marked = [tokenizer.end_id, *ids, -1, len(tokenizer.tokens)]
    assert tokenizer.detokenize([marked]).numpy()[0].decode() == f"<|endoftext|>{START}user"


def test_bytes_without_tokens_are_dropped_as_in_the_reference(tmp_path):
    ids = {"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    tokenizer = ByteBpe(vocabulary=str(tmp_path))
    tokenizer.fit([])
    texts = ["a\x04b", "\x04", "b a", "é"]
    assert encode(tokenizer, *texts) == [one.ids for one in describe_reference(tokenizer).encode_batch(texts)]


def test_a_long_text_is_split_in_passages_to_the_same_tokens(monkeypatch):
    text = "".join(row["text"] for row in ROWS) * 40
    whole = encode(learned(), text)[0]
    monkeypatch.setattr("tfattn.preprocessing.passages._PASSAGE", 50)
    monkeypatch.setattr("tfattn.preprocessing.passages.MAX_CHARACTERS", 170)
    parts = [ids.tolist() for ids in learned().encode([text, "", "a", text])]
    assert parts == [whole, [], *encode(learned(), "a"), whole]
    again = ByteBpe(vocabulary_size=330, special_tokens=(START, STOP))
    again.fit([{"text": text}] * 2)
    other = ByteBpe(vocabulary_size=330, special_tokens=(START, STOP))
    other.fit(ROWS * 80)
    assert again.tokens == other.tokens


def test_repeated_special_tokens_are_refused():
    with pytest.raises(ConfigError, match=r"named twice: received <\|endoftext\|>"):
        ByteBpe(special_tokens=("<|endoftext|>",))


def test_a_vocabulary_of_published_weights_is_adopted():
    tokenizer = ByteBpe(vocabulary="pretrained")
    with pytest.raises(ConfigError, match="no pretrained model whose vocabulary"):
        tokenizer.fit([])
    tokenizer.adopt(vocabulary=learned()._fitted, pattern="digits", end_token=STOP)
    tokenizer.fit([])
    assert tokenizer.tokens == learned().tokens
    assert tokenizer.end_id == learned().special_token_id(STOP) and tokenizer.pattern == "digits"


def test_another_tokenizers_version_is_refused(tmp_path):
    learned().save(tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings | {"characters_sha256": "0"}))
    with pytest.raises(DataError, match="made with another `tokenizers` package"):
        ByteBpe().load(tmp_path)


def test_published_texts_become_the_tokens_of_gpt2(shared):
    tokenizer = ByteBpe(vocabulary=str(shared / "vocabs" / "gpt2"))
    tokenizer.fit([])
    assert len(tokenizer.tokens) == 50_257 and tokenizer.end_id == 50_256
    texts = [
        (shared / "tinyshakespeare" / "input.txt").read_text()[:100_000],
        (shared / "multi30k" / "val.de").read_text(),
        (shared / "chinese" / "thucnews_titles" / "dev.txt").read_text(),
        (shared / "wikidump" / "smallwiki-latest-pages-articles.xml").read_text()[:100_000],
    ]
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        assert ids.tolist() == describe_reference(tokenizer).encode(text).ids
        assert tokenizer.detokenize([ids]).numpy()[0].decode() == text
