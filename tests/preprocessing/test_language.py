"""Detokenization: bytes of tokens, for ids of any shape."""

import tensorflow as tf

from tfattn.preprocessing.language import Detokenizer

JOIN = Detokenizer(["中".encode()[:2], "中".encode()[2:], b"a", b""])


def test_bytes_of_a_character_are_joined():
    assert [text.decode() for text in JOIN([[0, 1, 2], [2, 0, 1]]).numpy()] == ["中a", "a中"]


def test_ragged_and_empty_rows():
    assert JOIN(tf.ragged.constant([[2, 2], [], [3]], tf.int32)).numpy().tolist() == [b"aa", b"", b""]


def test_invalid_ids_are_dropped():
    assert JOIN([[-1, 2, 4, 2**31 - 1]]).numpy().tolist() == [b"a"]
