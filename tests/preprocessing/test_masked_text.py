"""[MASK] in texts is a token only for MaskedText."""

import numpy as np
import pytest
import tensorflow as tf
import tokenizers

from tfattn.preprocessing.masked_text import MaskedText
from tfattn.preprocessing.wordpiece import WordPiece

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "man",
    "went",
    "to",
    "store",
    ".",
    "##s",
    "[",
    "]",
    "mask",
]
WORDS += ["天", "气"]
TEXTS = [
    "The man went to the [MASK] .",
    "[MASK] went[MASK]to the [MASK]",
    "man[MASK]",
    "",
    "[mask] the [MASK",
    "今天[MASK]气",
    "[MA[MASK]SK] the stores",
    "[MASK][MASK]",
]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    return str(path)


@pytest.fixture(scope="module")
def wordpiece(vocabulary):
    wordpiece = WordPiece(vocabulary=vocabulary, max_length=12)
    wordpiece.fit([])
    return wordpiece


def fields(*texts):
    return {"text": tf.constant(texts, tf.string)}


def test_ids_equal_the_reference(wordpiece, vocabulary):
    reference = tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=True)
    reference.enable_truncation(12)
    features = MaskedText(wordpiece)(fields(*TEXTS))
    ids = features["token_ids"].to_list()
    assert ids == [reference.encode(text).ids for text in TEXTS]
    expected = [[place for place, number in enumerate(row) if number == 4] for row in ids]
    assert features["masked_lm_positions"].to_list() == expected
    assert [len(row) for row in expected] == [1, 3, 1, 0, 0, 1, 1, 2]


def test_other_tokenizers_do_not_parse_special_tokens(wordpiece):
    assert 4 not in np.concatenate(wordpiece(fields(*TEXTS))["token_ids"].to_list())


def test_long_texts_are_cut_and_reported(wordpiece):
    reader = MaskedText(wordpiece)
    long = fields("the " * 10 + "[MASK]", "the " * 9 + "[MASK]")
    assert reader.truncated(long).numpy().tolist() == [True, False]
    assert reader(long)["masked_lm_positions"].to_list() == [[], [10]]


def test_no_texts_give_no_rows(wordpiece):
    assert MaskedText(wordpiece)(fields())["token_ids"].shape[0] == 0


def test_saved_files_are_those_of_the_wordpiece(wordpiece, tmp_path):
    (tmp_path / "one").mkdir(), (tmp_path / "other").mkdir()
    MaskedText(wordpiece).save(tmp_path / "one")
    wordpiece.save(tmp_path / "other")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()
