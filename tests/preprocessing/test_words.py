"""Words: equal to the reference on every character."""

import pytest
import tensorflow as tf
from tokenizers.pre_tokenizers import BertPreTokenizer

from tfattn.preprocessing.characters import Characters, normalizer
from tfattn.preprocessing.words import split

# All of the planes that have characters, and some of those which have none yet.
CODES = (*range(0xD800), *range(0xE000, 0x40000), *range(0x40000, 0x110000, 101), *range(0xE0000, 0xE0200))
CHARACTERS = [chr(code) for code in CODES]


def words_of(texts: list[str], **folding: bool) -> list[list[str]]:
    words = split(tf.constant(texts), Characters(**folding))
    strings = tf.strings.unicode_encode(words.characters, "UTF-8")
    rows = tf.RaggedTensor.from_row_splits(strings, words.row_splits)
    return [[word.decode() for word in row] for row in rows.to_list()]


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_every_character_is_treated_as_by_the_reference(lower_case, strip_accents):
    folding = {"lower_case": lower_case, "strip_accents": strip_accents}
    # Between two letters it shows whether a character joins, parts, stands alone or goes.
    starts = range(0, len(CHARACTERS), 2000)
    texts = [" ".join(f"x{character}y" for character in CHARACTERS[start : start + 2000]) for start in starts]
    clean = normalizer(**folding).normalize_str

    expected = [[word for word, _ in BertPreTokenizer().pre_tokenize_str(clean(text))] for text in texts]

    assert words_of(texts, **folding) == expected


def test_no_word_crosses_two_texts():
    texts = ["ab", "", "cd", "\u200b", " ", "e\u200bf", "", ""]

    assert words_of(texts, lower_case=True, strip_accents=True) == [["ab"], [], ["cd"], [], [], ["ef"], [], []]


def test_no_texts_give_no_words():
    words = split(tf.constant([], tf.string), Characters(lower_case=True, strip_accents=True))

    assert words.row_splits.numpy().tolist() == [0]
