"""Words and character ids: published ids, positions, pairs, windows, and errors."""

import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.preprocessor import check_preprocessor
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.spelled_words import SpelledWords
from tfattn.preprocessing.spelling import spell, spell_eagerly

ROWS = [{"text": "The mixer rattles."}, {"text": "The Mixer rattles loudly."}, {"text": "Ein Gerät rattles."}]
START, END, UNKNOWN = 0, 1, 2


def fitted(**settings):
    words = SpelledWords(**settings)
    words.fit([dict.fromkeys(words.fields, row["text"]) for row in ROWS])
    return words


def published(word):
    """How the published code numbers the characters of a word."""
    data = word.encode()[:48]
    numbers = [258, *data, 259]
    return [number + 1 for number in numbers + [260] * (50 - len(numbers))]


def read(words, *texts):
    ids = words({"text": tf.constant(texts, tf.string)})["token_ids"].to_list()
    return [[words.tokens[number] for number in row] for row in ids]


def test_words_are_spelled_as_published():
    words = ["a", "Gerät", "日本", "x" * 47, "x" * 48, "ä" * 30, ""]
    np.testing.assert_array_equal(spell(tf.constant(words)), [published(word) for word in words])
    np.testing.assert_array_equal(spell_eagerly(words), [published(word) for word in words])


def test_texts_have_start_and_end_marks():
    words = fitted()
    assert read(words, "The Gerät.", "", "zebra The") == [
        ["<S>", "The", "Gerät", ".", "</S>"],
        ["<S>", "</S>"],
        ["<S>", "<UNK>", "The", "</S>"],
    ]
    features = words({"text": tf.constant(["zebra"])})
    characters = features["character_ids"].to_list()[0]
    assert characters[1] == published("zebra"), "an unknown word is spelled like any other"
    assert [row[:4] for row in (characters[0], characters[2])] == [[259, 257, 260, 261], [259, 258, 260, 261]]
    dense = padded(words({"text": tf.constant(["zebra", ""])}))
    assert dense["character_ids"].shape == (2, 3, 50) and not dense["character_ids"][1, 2].numpy().any()


def test_marks_in_texts_are_ordinary_words():
    assert read(fitted(), "<S>")[0][1:-1] == ["<UNK>"] * 3  # "<", "S" and ">"


def test_both_texts_have_marks_and_the_longer_is_cut():
    words = fitted(fields=("text_a", "text_b"), max_length=9)
    fields = {"text_a": tf.constant(["The rattles The The", "The", ""]), "text_b": tf.constant(["Ein Ein", "Ein", ""])}
    features = words(fields)
    names = [[words.tokens[number] for number in row] for row in features["token_ids"].to_list()]
    assert names == [
        ["<S>", "The", "rattles", "The", "</S>", "<S>", "Ein", "Ein", "</S>"],
        ["<S>", "The", "</S>", "<S>", "Ein", "</S>"],
        ["<S>", "</S>", "<S>", "</S>"],
    ]
    assert features["segment_ids"].to_list() == [[0] * 5 + [1] * 4, [0] * 3 + [1] * 3, [0, 0, 1, 1]]
    assert words.truncated(fields).numpy().tolist() == [True, False, False]


def test_positions_refer_to_the_original_text():
    words = fitted(max_length=5, doc_stride=2)
    words.locate("words")
    text = " mi\u00adxer, Gerät rattles"
    features = words({"text": tf.constant([text])})
    spans = [
        [(number, text[begin:end]) for number, begin, end in zip(*row, strict=True) if number]
        for row in zip(*(features[name].to_list() for name in ("word_numbers", "starts", "ends")), strict=True)
    ]
    assert spans == [[(1, "mi\u00adxer"), (2, ","), (3, "Gerät")], [(3, "Gerät"), (4, "rattles")]]
    assert features["example_rows"].numpy().tolist() == [0, 0]


def test_sentences_are_whole_texts_and_spellings_equal_the_graph():
    words = fitted(max_length=3)
    found = list(words.sentences(["The mixer rattles.", "", "zebra"]))
    assert [[words.tokens[number] for number in row] for row in found] == [
        ["<S>", "The", "mixer", "rattles", ".", "</S>"],
        ["<S>", "</S>"],
        ["<S>", "<UNK>", "</S>"],
    ]
    whole = fitted(max_length=20)({"text": tf.constant(["The mixer rattles."])})
    np.testing.assert_array_equal(words.spellings[found[0]], whole["character_ids"].to_list()[0])


def test_the_most_frequent_words_are_kept():
    assert fitted(vocabulary_size=6).tokens == ["<S>", "</S>", "<UNK>", ".", "rattles", "The"]
    assert fitted(lower_case=True).tokens[3:6] == [".", "rattles", "mixer"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"max_length": 2}, "max_length: there is no room for text"),
        ({"max_length": 10, "doc_stride": 9}, "doc_stride: there would be text between two windows"),
        ({"fields": ("a", "b", "c")}, "fields: a sequence is made of one text or two"),
    ],
)
def test_impossible_settings_are_refused(settings, told):
    with pytest.raises(ConfigError) as caught:
        SpelledWords(**settings)
    assert f"{caught.value.key}: {caught.value.what}" == told


def test_texts_without_words_are_refused():
    with pytest.raises(DataError, match="there are no words to list"):
        SpelledWords().fit([{"text": " "}])


@pytest.mark.parametrize("fields", [("text",), ("text_a", "text_b")])
def test_contract(tmp_path, fields):
    one = SpelledWords(fields=fields, max_length=20)
    rows = [dict.fromkeys(fields, row["text"]) for row in ROWS]
    one.fit(rows)
    one.locate("words")
    check_preprocessor(one, SpelledWords(lower_case=True), rows, folder=tmp_path)
