"""Conversion between tensor messages and NumPy arrays; strings are arrays of `bytes` objects."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.framework.types_pb2 import DT_STRING, DataType

from tfattn.serving.api.failure import invalid
from tfattn.serving.api.strings import strings

# A message may give one value for all elements, so a short message could allocate all memory. Larger tensors must have
# at least one byte per element in the message.
MAX_REPEATED = 2**18

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

# The common types by their number in messages, for the fast path.
_FAST_TYPES = {
    _ENUMS[kind]: (np.dtype(kind), _FIELDS[kind]) for kind in (np.float32, np.float64, np.int64, np.int32, np.bool_)
}


def from_proto(name: str, proto: TensorProto) -> np.ndarray:
    """Convert a message to an array.

    Args:
        name: the input's name, for the error.
        proto: values as tensor_content or in the field of their type, where the last value is repeated as needed.

    Raises:
        Failure: INVALID_ARGUMENT, the message is invalid or too large.
    """
    if proto.dtype in _FAST_TYPES and (array := _fast_array(proto)) is not None:
        return array
    shape = [dim.size for dim in proto.tensor_shape.dim]
    size = math.prod(shape)
    if proto.tensor_shape.unknown_rank or min(shape, default=0) < 0:
        raise invalid(f"tensor parsing error: {name}: not a shape")
    if size > MAX_REPEATED and size > proto.ByteSize():
        raise invalid(f"tensor parsing error: {name}: {size} elements are not in the message")
    try:
        if proto.dtype == DT_STRING and len(proto.string_val) <= size:  # much faster than make_ndarray
            last = proto.string_val[-1:] or [b""]
            return strings([*proto.string_val, *last * (size - len(proto.string_val))]).reshape(shape)
        return tf.make_ndarray(proto)
    except Exception as error:  # make_ndarray raises many types of exceptions
        raise invalid(f"tensor parsing error: {name}: {error}") from None


def _fast_array(proto: TensorProto) -> np.ndarray | None:
    """Convert a complete list of numbers, the fast path; return None for other messages."""
    if proto.tensor_shape.unknown_rank:
        return None
    shape = [dim.size for dim in proto.tensor_shape.dim]
    size = shape[0] if len(shape) == 1 else math.prod(shape)
    dtype, field = _FAST_TYPES[proto.dtype]
    if content := proto.tensor_content:
        array = np.frombuffer(content, dtype) if len(content) == size * dtype.itemsize else None
    else:
        values = getattr(proto, field)
        array = np.array(list(values), dtype) if len(values) == size else None
    if array is None or min(shape, default=0) < 0:
        return None
    return array if len(shape) == 1 else array.reshape(shape)


def to_proto(array: np.ndarray, *, as_content: bool = False) -> TensorProto:
    """Convert an array to a message; see `fill`."""
    proto = TensorProto()
    fill(proto, array, as_content=as_content)
    return proto


def fill(proto: TensorProto, array: np.ndarray, *, as_content: bool = False) -> None:
    """Write an array into an empty message.

    Args:
        proto: the message.
        array: the values; strings are objects of `bytes`.
        as_content: whether to write raw bytes where possible, which is fast. The default is the field of the type
            (float_val ...), as clients of TF Serving expect in responses.
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


def type_name(dtype: tf.DType) -> str:
    """Return the name of a type in TensorFlow's errors: float, not float32."""
    return DataType.Name(dtype.as_datatype_enum).removeprefix("DT_").lower()
