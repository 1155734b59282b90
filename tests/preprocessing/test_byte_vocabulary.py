"""Vocabularies of byte-level BPE: training equals the reference, and mismatched files are refused."""

import json
import random

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.byte_vocabulary import CHARACTERS, ByteVocabulary, bytes_to_unicode, unicode_to_bytes

END = "<|endoftext|>"
WORDS = {"Ġthe": 40, "Ġthen": 11, "Ġpump": 7, "Ġlump": 5, "!": 3, "ÃŃ": 2, "Ġonce": 1}


def learned(words=None, size=290):
    return ByteVocabulary.train(words or WORDS, size=size, special=[END])


def test_bytes_map_to_distinct_characters():
    assert len(set(CHARACTERS)) == 256 and not any(character.isspace() for character in CHARACTERS)
    assert all(unicode_to_bytes(bytes_to_unicode(bytes([byte]))) == bytes([byte]) for byte in range(256))
    assert unicode_to_bytes("a b") is None


def test_a_vocabulary_starts_with_bytes_and_ends_with_special_tokens():
    vocabulary = learned()
    assert set(vocabulary.tokens[:256]) == set(CHARACTERS) and vocabulary.tokens[-1] == END
    assert vocabulary.token_bytes[vocabulary.tokens.index("Ġthe")] == b" the"
    assert vocabulary.token_bytes[-1] == b""


def test_trained_merges_equal_the_reference():
    reference = Tokenizer(models.BPE())
    reference.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=289, min_frequency=2, initial_alphabet=list(CHARACTERS), show_progress=False
    )
    reference.train_from_iterator([" ".join([word] * count) for word, count in WORDS.items()], trainer)
    assert reference.get_vocab() == {token: number for number, token in enumerate(learned().tokens[:-1])}


def test_the_order_of_words_does_not_matter():
    words = list(WORDS.items())
    random.Random(1).shuffle(words)
    assert learned(dict(words)) == learned()


def test_a_vocabulary_smaller_than_all_bytes_is_refused():
    with pytest.raises(ConfigError, match="no room for all bytes: expected at least 257"):
        learned(size=256)


@pytest.fixture
def folder(tmp_path):
    """A folder with both files; calling it changes them."""
    learned().write(tmp_path)

    def change(tokens=lambda ids: ids, merges=lambda lines: lines):
        ids = json.loads((tmp_path / "vocab.json").read_text())
        (tmp_path / "vocab.json").write_text(json.dumps(tokens(ids)))
        lines = (tmp_path / "merges.txt").read_text().splitlines()
        (tmp_path / "merges.txt").write_text("\n".join(merges(lines)) + "\n")
        return tmp_path

    return change


def test_saved_files_round_trip(folder):
    assert ByteVocabulary.read(folder(), special=[END]) == learned()
    assert ByteVocabulary.read(folder() / "vocab.json", special=[END]) == learned()
    # Older files say no version.
    assert ByteVocabulary.read(folder(merges=lambda lines: lines[1:]), special=[END]) == learned()


def without(token):
    """Takes a token out and numbers the others anew."""
    return lambda ids: {one: number for number, one in enumerate(one for one in ids if one != token)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": without("he")}, r"merges\.txt:2: a merge makes an unknown token: .*received 'he'"),
        ({"tokens": lambda ids: {**ids, "qq": len(ids)}}, r"vocab\.json: a token is made by no merge: .*'qq'"),
        ({"tokens": without(END)}, r"vocab\.json: the vocabulary lacks special tokens: .*<\|endoftext\|>"),
        ({"tokens": lambda ids: {**ids, "!": 400}}, r"vocab\.json: the ids of the vocabulary leave gaps: .*with id 0"),
        ({"tokens": lambda ids: list(ids)}, r"vocab\.json: the file is damaged"),
        ({"merges": lambda lines: [*lines, "a b c"]}, r"merges\.txt:\d+: a line is not a merge: .*received 'a b c'"),
        ({"merges": lambda lines: lines[:-1]}, r"vocab\.json: a token is made by no merge"),
        ({"merges": lambda lines: [lines[0], *reversed(lines[1:])]}, "a token that only a later line makes"),
    ],
)
def test_mismatched_files_are_refused(folder, changes, message):
    with pytest.raises(DataError, match=message):
        ByteVocabulary.read(folder(**changes), special=[END])


def test_a_missing_file_is_named(tmp_path):
    learned().write(tmp_path)
    (tmp_path / "merges.txt").unlink()
    with pytest.raises(DataError, match=r"merges\.txt: the file is missing"):
        ByteVocabulary.read(tmp_path, special=[END])


def test_merges_that_are_all_pairs_of_tokens_need_no_order(tmp_path):
    tokens = [*CHARACTERS, "abc", "ab", "bc", END]  # the token of the lowest id is joined first
    merges = [("a", "bc"), ("ab", "c"), ("a", "b"), ("b", "c")]
    (tmp_path / "vocab.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (tmp_path / "merges.txt").write_text("".join(f"{left} {right}\n" for left, right in merges))
    known = ByteVocabulary.read(tmp_path, special=[END])
    assert known.merge_ranks == {"abc": 0, "ab": 1, "bc": 2}
