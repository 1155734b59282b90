"""Conversion of JSON values to dense tensors: nested lists of equal sizes with leaves of one type at one depth.

Valid values are converted without a Python loop over values. Only invalid values are traversed, for TF Serving's error
message.
"""

import base64
import itertools
from typing import Any

import numpy as np
import tensorflow as tf
from grpc import StatusCode

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.tensors import strings, type_name
from tfattn.serving.protocols.rest.parse import Spelled, check_size, kind, quote

MAX_DIMENSIONS = 64  # of a NumPy array

# The Python types that tensors of each dtype accept.
_NUMBERS, _INTEGERS, _BOOLEANS, _TEXTS = {float, int, Spelled}, {int}, {bool}, {str, dict}
_LEAVES: dict[tf.DType, set[type]] = {
    **dict.fromkeys((tf.float32, tf.float64), _NUMBERS),
    **dict.fromkeys((tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint32, tf.uint64), _INTEGERS),
    tf.bool: _BOOLEANS,
    tf.string: _TEXTS,
}
_NARROW = (tf.int8, tf.int16, tf.uint8)  # TF Serving reads them as int32 and truncates


def dense(value: Any, dtype: tf.DType, *, cut_integers: bool) -> np.ndarray | None:
    """Convert a JSON value to an array.

    Args:
        value: a parsed JSON value.
        dtype: the type of the array. Float types accept integers, and numbers too large for float32 become infinite.
            Strings become `bytes` objects, from texts or objects such as {"b64": "aGVsbG8="}.
        cut_integers: whether integers that fit int32, but not a narrower type, are truncated rather than refused.

    Returns:
        The array, or None if the value is not such a tensor; `check` raises the reason.
    """
    shape: list[int] = []
    leaves = [value]
    while leaves and type(leaves[0]) is list:
        if set(map(type, leaves)) != {list} or len(shape) == MAX_DIMENSIONS:
            return None
        sizes = set(map(len, leaves))
        if len(sizes) > 1:
            return None
        shape += sizes
        leaves = list(itertools.chain.from_iterable(leaves))
    array = _array(leaves, dtype, cut_integers)
    return None if array is None else array.reshape(shape)


def check(value: Any, dtype: tf.DType, *, cut_integers: bool) -> tuple[int, list[int]]:
    """Check a value recursively and raise the failure of its first invalid element.

    Args:
        value, dtype, cut_integers: see `dense`.

    Returns:
        The number of leaves and the shape of the value.

    Raises:
        Failure: INVALID_ARGUMENT, the value is not such a tensor; UNIMPLEMENTED, JSON has no values of this type.
    """
    shape: list[int] = []
    first = value
    while type(first) is list:
        shape.append(len(first))
        if len(shape) > MAX_DIMENSIONS:
            raise invalid(f"JSON Value: {quote(value)} has more than {MAX_DIMENSIONS} dimensions")
        first = first[0] if first else None
    return _check_level(value, 0, shape, dtype, cut_integers), shape


def is_b64(value: Any) -> bool:
    """Return whether a value is base64 data: an object with the single key b64 and a string."""
    return type(value) is dict and len(value) == 1 and type(value.get("b64")) is str


def decode_b64(value: Any) -> bytes:
    """Decode a base64 object; padding and white space are optional.

    Raises:
        Failure: INVALID_ARGUMENT, the value is not a base64 object, or its string is not base64.
    """
    if not is_b64(value):
        raise invalid(f"JSON Value: {quote(value)} not formatted correctly for base64 data")
    text = "".join(value["b64"].split())
    if "=" not in text:
        text += "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise invalid("Unable to base64 decode") from None


def _array(leaves: list[Any], dtype: tf.DType, cut_integers: bool) -> np.ndarray | None:
    if not leaves:
        return np.empty(0, dtype.as_numpy_dtype)
    accepted = _LEAVES.get(dtype, set())
    if not set(map(type, leaves)) <= accepted:
        return None
    try:
        if accepted is _TEXTS:
            return strings([_text(leaf) for leaf in leaves])
        if accepted is _NUMBERS:
            return _floats(leaves, dtype.as_numpy_dtype)
        if cut_integers and dtype in _NARROW:
            return np.array(leaves, np.int32).astype(dtype.as_numpy_dtype)
        return np.array(leaves, dtype.as_numpy_dtype)
    except (Failure, OverflowError):  # invalid base64, or an integer out of range
        return None


def _floats(leaves: list[float], dtype: type) -> np.ndarray:
    with np.errstate(over="ignore"):
        array = np.array(leaves, dtype)
    if np.isinf(array).any():
        for leaf in leaves:
            check_size(leaf)
    return array


def _text(leaf: Any) -> bytes:
    return leaf.encode() if type(leaf) is str else decode_b64(leaf)


def _check_level(value: Any, level: int, shape: list[int], dtype: tf.DType, cut_integers: bool) -> int:
    if type(value) is not list:
        if level != len(shape):
            raise invalid(
                f"JSON Value: {quote(value)} found at incorrect level: {level + 1} in the JSON DOM. "
                f"Expected at level: {len(shape)}"
            )
        _check_leaf(value, dtype, cut_integers)
        return 1
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}"
        )
    return sum(_check_level(item, level + 1, shape, dtype, cut_integers) for item in value)


def _check_leaf(value: Any, dtype: tf.DType, cut_integers: bool) -> None:
    accepted = _LEAVES.get(dtype)
    if accepted is None and type(value) is not dict:
        message = f"Conversion of JSON Value: {quote(value)} to type: {type_name(dtype)}"
        raise Failure(StatusCode.UNIMPLEMENTED, message)
    is_wrong = accepted is None or type(value) not in accepted
    if accepted is _INTEGERS and not is_wrong:
        limits = tf.int32 if cut_integers and dtype in _NARROW else dtype
        is_wrong = not limits.min <= value <= limits.max
    if is_wrong:
        raise invalid(f"JSON Value: {quote(value)} Type: {kind(value)} is not of expected type: {type_name(dtype)}")
    if accepted is _NUMBERS:
        check_size(value)
    elif accepted is _TEXTS:
        _text(value)
