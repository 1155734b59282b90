"""Conversion of arrays to messages and back in both encodings; invalid messages are refused."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.framework.types_pb2 import DT_FLOAT, DT_STRING

from tfattn.serving.api.failure import Failure
from tfattn.serving.api.tensors import from_proto, strings, to_proto

DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]


@pytest.mark.parametrize("as_content", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, ml_dtypes.bfloat16])
def test_every_type_survives_serialization(dtype, as_content):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    proto = to_proto(array, as_content=as_content)
    back = from_proto("x", TensorProto.FromString(proto.SerializeToString()))
    assert back.dtype == array.dtype and back.shape == array.shape and (back == array).all()
    assert tf.make_ndarray(proto).tolist() == array.tolist()


@given(arrays.arrays(np.float32, arrays.array_shapes(min_dims=0, min_side=0), elements=st.floats(width=32)))
def test_floats_are_exact(array):
    for as_content in (False, True):
        assert from_proto("x", to_proto(array, as_content=as_content)).tobytes() == array.tobytes()


@given(st.lists(st.binary()))
def test_strings_are_bytes(values):
    array = strings(values)
    back = from_proto("x", to_proto(array))
    assert back.dtype == object and back.tolist() == values
    assert from_proto("x", to_proto(array.reshape(-1, 1))).shape == (len(values), 1)


def test_values_are_written_to_the_field_of_their_type():
    assert list(to_proto(np.float32([1, 2])).float_val) == [1, 2]
    assert list(to_proto(np.int64([3])).int64_val) == [3]


def test_a_single_value_is_repeated():
    proto = TensorProto(dtype=DT_FLOAT, float_val=[2.0])
    proto.tensor_shape.dim.add(size=3)
    assert from_proto("x", proto).tolist() == [2, 2, 2]
    proto = TensorProto(dtype=DT_STRING, string_val=[b"a", b"b"])
    proto.tensor_shape.dim.add(size=4)
    assert from_proto("x", proto).tolist() == [b"a", b"b", b"b", b"b"]
    del proto.string_val[:]
    assert from_proto("x", proto).tolist() == [b""] * 4


def test_complete_messages_may_be_large():
    large = np.ones(2**21 + 1, np.uint8)
    assert (from_proto("x", to_proto(large, as_content=True)) == large).all()
    assert (from_proto("x", to_proto(large)) == large).all()


def broken():
    proto = TensorProto(dtype=DT_FLOAT, tensor_content=b"123")
    proto.tensor_shape.dim.add(size=1)
    yield "content of the wrong length", proto
    proto = TensorProto(dtype=DT_FLOAT, float_val=[1.0])
    proto.tensor_shape.dim.add(size=-1)
    yield "a negative size", proto
    proto = TensorProto(dtype=DT_FLOAT, float_val=[1.0])
    proto.tensor_shape.unknown_rank = True
    yield "no rank", proto
    proto = TensorProto(dtype=DT_FLOAT, float_val=[1.0])
    proto.tensor_shape.dim.add(size=2**40)
    yield "a value for a terabyte", proto
    proto = TensorProto(dtype=DT_FLOAT, float_val=[1.0])
    proto.tensor_shape.dim.add(size=2**21)
    yield "a value for megabytes", proto
    proto = TensorProto(dtype=DT_STRING)
    for size in (0, 2**62, 2**62):
        proto.tensor_shape.dim.add(size=size)
    yield "a shape that no array has", proto
    proto = TensorProto(dtype=DT_STRING, string_val=[b"a", b"b", b"c"])
    proto.tensor_shape.dim.add(size=2)
    yield "more strings than the shape holds", proto
    yield "no type", TensorProto()
    yield "an unknown type", TensorProto(dtype=77)


@pytest.mark.parametrize(("what", "proto"), broken())
def test_invalid_messages_are_invalid_arguments(what, proto):
    with pytest.raises(Failure, match="tensor parsing error: x") as failure:
        from_proto("x", proto)
    assert failure.value.http_status == 400
