"""Byte-level BPE of tokenizer.json, as the package `tokenizers` writes it."""

import pytest
import tensorflow as tf
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from tests.pretrained.decoders import END, MERGES, SPECIAL, TOKENS
from tfattn.errors import CheckpointError, DataError
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.pretrained.hugging_face_tokens import read_tokens

TEXT = "The pump's pumps 1919, at 19\n\n"
CUTS = {
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "digits": pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    ),
}


def reference(cut=CUTS["gpt2"], merges=MERGES):
    ids = {token: number for number, token in enumerate(TOKENS) if not token.startswith("<|im")}
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = cut
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return tokenizer


@pytest.mark.parametrize("pattern", CUTS)
def test_ids_equal_the_package(tmp_path, pattern):
    expected = reference(CUTS[pattern])
    expected.save(str(tmp_path / "tokenizer.json"))
    read = read_tokens(tmp_path, {"eos_token_id": [len(TOKENS) - 1, 0]})
    assert (read["pattern"], read["end_token"]) == (pattern, "<|im_end|>")
    assert set(read["vocabulary"].special) == set(SPECIAL)
    tokenizer = ByteBpe(vocabulary="pretrained")
    tokenizer.adopt(**read)
    tokenizer.fit([])
    assert tokenizer.split(tf.constant([TEXT])).to_list() == [expected.encode(TEXT).ids]
    assert tokenizer.end_id == len(TOKENS) - 1


def test_settings_of_the_tokenizer_say_the_end_token(tmp_path):
    reference().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "<|endoftext|>"}}')
    assert read_tokens(tmp_path, {"eos_token_id": 5})["end_token"] == END


@pytest.mark.parametrize(
    "change",
    [
        lambda known: setattr(known, "pre_tokenizer", pre_tokenizers.Whitespace()),
        lambda known: setattr(known, "pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)),
        lambda known: setattr(known, "normalizer", normalizers.Lowercase()),
    ],
)
def test_texts_that_are_divided_otherwise_are_refused(tmp_path, change):
    known = reference()
    change(known)
    known.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(
        CheckpointError, match="expected byte-level BPE with the pre-tokenizer of GPT-2.*received BPE, "
    ):
        read_tokens(tmp_path, {})


def test_a_damaged_file(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE"}}')
    with pytest.raises(DataError, match="tokenizer.json"):
        read_tokens(tmp_path, {})
