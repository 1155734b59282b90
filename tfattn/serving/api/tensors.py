"""Tensors as messages and as numpy arrays; strings are arrays of `bytes` objects."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.framework.types_pb2 import DT_STRING, DataType

from tfattn.serving.api.failure import invalid

# A message may give one value for all elements, so that a few bytes stand for many: for so many, and not for all of the
# memory. More of them must be in the message itself, where each takes a byte at least.
MOST_REPEATED = 2**18

_FIELDS = {
    np.float32: "float_val",
    np.float64: "double_val",
    np.int64: "int64_val",
    np.uint32: "uint32_val",
    np.uint64: "uint64_val",
    np.bool_: "bool_val",
    **dict.fromkeys((np.int32, np.int16, np.int8, np.uint16, np.uint8), "int_val"),
}

_ENUMS = {kind: tf.as_dtype(kind).as_datatype_enum for kind in _FIELDS}

# What most tensors are made of, by the number of their type in a message.
_PLAIN = {
    _ENUMS[kind]: (np.dtype(kind), _FIELDS[kind]) for kind in (np.float32, np.float64, np.int64, np.int32, np.bool_)
}


def from_proto(name: str, proto: TensorProto) -> np.ndarray:
    """Make the array of a message.

    Args:
        name: the input's name, for the error.
        proto: values as tensor_content, or in the field of their type; there, the last one stands for all that follow.

    Raises:
        Failure: INVALID_ARGUMENT, the message is broken or too large.
    """
    if proto.dtype in _PLAIN and (array := _plain(proto)) is not None:
        return array
    shape = [dim.size for dim in proto.tensor_shape.dim]
    size = math.prod(shape)
    if proto.tensor_shape.unknown_rank or min(shape, default=0) < 0:
        raise invalid(f"tensor parsing error: {name}: not a shape")
    if size > MOST_REPEATED and size > proto.ByteSize():
        raise invalid(f"tensor parsing error: {name}: {size} elements are not in the message")
    try:
        if proto.dtype == DT_STRING and len(proto.string_val) <= size:  # text, many times as fast as below
            last = proto.string_val[-1:] or [b""]
            return strings([*proto.string_val, *last * (size - len(proto.string_val))]).reshape(shape)
        return tf.make_ndarray(proto)
    except Exception as error:  # of many kinds, for a message may be broken in many ways
        raise invalid(f"tensor parsing error: {name}: {error}") from None


def _plain(proto: TensorProto) -> np.ndarray | None:
    """Make the array of a complete list of numbers, many times as fast as in general; None for all others."""
    if proto.tensor_shape.unknown_rank:
        return None
    shape = [dim.size for dim in proto.tensor_shape.dim]
    size = shape[0] if len(shape) == 1 else math.prod(shape)
    dtype, field = _PLAIN[proto.dtype]
    if content := proto.tensor_content:
        array = np.frombuffer(content, dtype) if len(content) == size * dtype.itemsize else None
    else:
        values = getattr(proto, field)
        array = np.array(list(values), dtype) if len(values) == size else None
    if array is None or min(shape, default=0) < 0:
        return None
    return array if len(shape) == 1 else array.reshape(shape)


def to_proto(array: np.ndarray, *, as_content: bool = False) -> TensorProto:
    """Make the message of an array; see `fill`."""
    proto = TensorProto()
    fill(proto, array, as_content=as_content)
    return proto


def fill(proto: TensorProto, array: np.ndarray, *, as_content: bool = False) -> None:
    """Write an array into an empty message.

    Args:
        proto: the message.
        array: any values; strings as objects of `bytes`.
        as_content: as raw bytes where possible, which is fast. The default is the field of their type (float_val ...),
            in which clients of TF Serving expect answers.
    """
    if array.dtype == object:
        proto.dtype = DT_STRING
        proto.string_val.extend(array.ravel())
    else:
        kind = array.dtype.type
        proto.dtype = _ENUMS[kind] if kind in _ENUMS else tf.as_dtype(array.dtype).as_datatype_enum
        field = _FIELDS.get(kind)
        if as_content or field is None:
            proto.tensor_content = np.ascontiguousarray(array).tobytes()
        else:
            getattr(proto, field).extend(array.ravel().tolist())
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)


def strings(values) -> np.ndarray:
    """Make a flat array of `bytes` objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def type_name(dtype: tf.DType) -> str:
    """Name a type as TensorFlow's own errors do: float, not float32."""
    return DataType.Name(dtype.as_datatype_enum).removeprefix("DT_").lower()
