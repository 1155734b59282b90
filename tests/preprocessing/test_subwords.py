"""The n-grams of the characters of words: short ones first, each with a number."""

import tensorflow as tf

from tfattn.preprocessing.subwords import Subwords


def numbers(word, **options):
    subwords = Subwords(**{"shortest": 3, "longest": 3, "buckets": 10**6, "most": 8, **options})
    return subwords(tf.constant([word])).numpy()[0].tolist()


def hashed(*parts):
    return tf.strings.to_hash_bucket_fast(list(parts), 10**6).numpy().tolist()


def test_n_grams_include_the_word_boundaries():
    assert numbers("where") == [*hashed("<wh", "whe", "her", "ere", "re>"), -1, -1, -1]
    assert numbers("Üb", most=2) == hashed("<Üb", "Üb>")  # characters, not bytes
    assert numbers("中", shortest=2) == [*hashed("<中", "中>", "<中>"), -1, -1, -1, -1, -1]


def test_short_ones_come_first_and_long_words_leave_out_long_ones():
    expected = hashed("<wh", "whe", "her", "ere", "re>", "<whe", "wher", "here")
    assert numbers("where", longest=4) == expected
    assert numbers("") == [-1] * 8


def test_there_are_no_more_numbers_than_buckets():
    assert 0 <= max(numbers("where", buckets=2)) < 2
