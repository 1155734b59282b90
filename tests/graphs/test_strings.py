"""Texts are found in both forms that constants have."""

import pytest
import tensorflow as tf

from tfattn.errors import SavedModelError
from tfattn.graphs.strings import strings_of

TEXTS = [b"", b"red", b"\xff" * 300]


def test_both_forms_hold_the_same():
    tensor = tf.make_tensor_proto(TEXTS, shape=[3, 1])
    assert list(strings_of(tensor)) == TEXTS
    del tensor.string_val[:]
    tensor.tensor_content = bytes([0, 3, 0xAC, 0x02]) + b"".join(TEXTS)
    assert list(strings_of(tensor)) == TEXTS
    tensor.tensor_content += b"more"
    with pytest.raises(SavedModelError, match="a constant's texts cannot be read"):
        strings_of(tensor)


def test_numbers_are_no_texts():
    assert list(strings_of(tf.make_tensor_proto([1.0, 2.0]))) == []
