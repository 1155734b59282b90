"""Character n-grams of words: order and ids."""

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


def test_short_n_grams_are_first_and_long_words_lose_long_n_grams():
    expected = hashed("<wh", "whe", "her", "ere", "re>", "<whe", "wher", "here")
    assert numbers("where", longest=4) == expected
    assert numbers("") == [-1] * 8


def test_ids_are_below_the_number_of_buckets():
    assert 0 <= max(numbers("where", buckets=2)) < 2
