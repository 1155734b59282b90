"""Texts are found in both forms that constants have."""

import math

import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_shape_pb2

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


@pytest.mark.parametrize("shape", [[10**9], [10**6, 10**6], [2**62, 2**62], [-1]])
def test_a_shape_that_the_content_cannot_fill_is_refused_before_memory_is_taken_for_it(shape):
    tensor = tf.make_tensor_proto(TEXTS)
    del tensor.string_val[:]
    tensor.tensor_content = bytes([0, 0, 0])
    tensor.tensor_shape.CopyFrom(tensor_shape_pb2.TensorShapeProto(dim=[{"size": size} for size in shape]))
    with pytest.raises(SavedModelError, match=f"{math.prod(shape)} texts in 3 bytes"):
        strings_of(tensor)


def test_numbers_are_no_texts():
    assert list(strings_of(tf.make_tensor_proto([1.0, 2.0]))) == []
