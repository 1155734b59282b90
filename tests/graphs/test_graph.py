"""Strings are read from both forms of constants."""

import math

import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_shape_pb2

from tfattn.errors import SavedModelError
from tfattn.graphs.graph import read_strings

TEXTS = [b"", b"red", b"\xff" * 300]


def test_both_forms_of_constants_give_equal_strings():
    tensor = tf.make_tensor_proto(TEXTS, shape=[3, 1])
    assert list(read_strings(tensor)) == TEXTS
    del tensor.string_val[:]
    tensor.tensor_content = bytes([0, 3, 0xAC, 0x02]) + b"".join(TEXTS)
    assert list(read_strings(tensor)) == TEXTS
    tensor.tensor_content += b"more"
    with pytest.raises(SavedModelError, match="the strings of a constant cannot be read"):
        read_strings(tensor)


@pytest.mark.parametrize("shape", [[10**9], [10**6, 10**6], [2**62, 2**62], [-1]])
def test_an_oversized_shape_is_refused_before_allocation(shape):
    tensor = tf.make_tensor_proto(TEXTS)
    del tensor.string_val[:]
    tensor.tensor_content = bytes([0, 0, 0])
    tensor.tensor_shape.CopyFrom(tensor_shape_pb2.TensorShapeProto(dim=[{"size": size} for size in shape]))
    with pytest.raises(SavedModelError, match=f"{math.prod(shape)} strings in 3 bytes"):
        read_strings(tensor)


def test_numeric_constants_have_no_strings():
    assert list(read_strings(tf.make_tensor_proto([1.0, 2.0]))) == []
