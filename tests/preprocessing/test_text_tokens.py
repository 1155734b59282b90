"""Tokens in texts: the leftmost, and the longest of several; the rest is split as usual."""

import pytest
import tensorflow as tf

from tfattn.preprocessing.text_tokens import TextTokens

FIND = TextTokens({"ab": 101, "abc": 102, "  ": 103, "   ": 104, "<t>": 105})


def split(texts):
    """Return the code points of texts."""
    return tf.strings.unicode_decode(texts, "UTF-8")


@pytest.mark.parametrize("traced", [False, True])
def test_the_leftmost_and_longest_tokens_are_found(traced):
    read = tf.function(lambda texts: FIND(texts, split)) if traced else lambda texts: FIND(texts, split)
    texts = ["xabcd", "ababc", "a    b", "<t><t>", "", "<T>é"]
    assert read(tf.constant(texts)).to_list() == [
        [ord("x"), 102, ord("d")],
        [101, 102],
        [ord("a"), 104, ord(" "), ord("b")],
        [105, 105],
        [],
        [ord("<"), ord("T"), ord(">"), ord("é")],
    ]


def test_no_texts():
    assert FIND(tf.constant([], tf.string), split).to_list() == []
