"""Tokens joined to texts: bytes as they are, whatever the shape of the ids."""

import tensorflow as tf

from tfattn.preprocessing.joined_tokens import JoinedTokens

JOIN = JoinedTokens(["中".encode()[:2], "中".encode()[2:], b"a", b""])


def test_bytes_of_a_character_come_together():
    assert [text.decode() for text in JOIN([[0, 1, 2], [2, 0, 1]]).numpy()] == ["中a", "a中"]


def test_ragged_ids_and_none_at_all():
    assert JOIN(tf.ragged.constant([[2, 2], [], [3]], tf.int32)).numpy().tolist() == [b"aa", b"", b""]


def test_what_is_no_id_is_dropped():
    assert JOIN([[-1, 2, 4, 2**31 - 1]]).numpy().tolist() == [b"a"]
