"""A JSON value as a dense tensor: lists of equal sizes down to one depth, and there values of one type.

What is well-formed is converted without a look at each value from Python. Only what is not is walked through, to say
what is wrong with it in TF Serving's words.
"""

import base64
import itertools
from typing import Any

import numpy as np
import tensorflow as tf
from grpc import StatusCode

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.api.tensors import strings, type_name
from tfattn.serving.protocols.rest.parse import Spelled, check_size
from tfattn.serving.protocols.rest.quoting import kind, quote

MOST_DIMENSIONS = 64  # of an array

# The types of values that tensors take.
_NUMBERS, _WHOLE, _TRUTHS, _TEXTS = {float, int, Spelled}, {int}, {bool}, {str, dict}
_LEAVES: dict[tf.DType, set[type]] = {
    **dict.fromkeys((tf.float32, tf.float64), _NUMBERS),
    **dict.fromkeys((tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint32, tf.uint64), _WHOLE),
    tf.bool: _TRUTHS,
    tf.string: _TEXTS,
}
_NARROW = (tf.int8, tf.int16, tf.uint8)  # what TF Serving reads as int32, and cuts


def dense(value: Any, dtype: tf.DType, *, cut_integers: bool) -> np.ndarray | None:
    """Make the array of a JSON value.

    Args:
        value: as `parse` gives it.
        dtype: the type of the array. Floats take integers too, and become infinite where they are too big for float32;
            strings are `bytes` objects, from texts or from objects such as {"b64": "aGVsbG8="}.
        cut_integers: whether integers that fit int32, but not a narrower type, are cut to it rather than refused.

    Returns:
        the array, or None where the value is no such tensor: `check` says why.
    """
    shape: list[int] = []
    leaves = [value]
    while leaves and type(leaves[0]) is list:
        if set(map(type, leaves)) != {list} or len(shape) == MOST_DIMENSIONS:
            return None
        sizes = set(map(len, leaves))
        if len(sizes) > 1:
            return None
        shape += sizes
        leaves = list(itertools.chain.from_iterable(leaves))
    array = _array(leaves, dtype, cut_integers)
    return None if array is None else array.reshape(shape)


def check(value: Any, dtype: tf.DType, *, cut_integers: bool) -> tuple[int, list[int]]:
    """Walk through a value from its beginning to find what is wrong with it.

    Args:
        value, dtype, cut_integers: as for `dense`.

    Returns:
        the number of its leaves, and its shape.

    Raises:
        Failure: INVALID_ARGUMENT, it is no such tensor; UNIMPLEMENTED, JSON cannot say values of this type.
    """
    shape: list[int] = []
    first = value
    while type(first) is list:
        shape.append(len(first))
        if len(shape) > MOST_DIMENSIONS:
            raise invalid(f"JSON Value: {quote(value)} has more than {MOST_DIMENSIONS} dimensions")
        first = first[0] if first else None
    return _check_level(value, 0, shape, dtype, cut_integers), shape


def is_b64(value: Any) -> bool:
    """Tell whether a value is base64 bytes: an object with the one key b64, which holds a string."""
    return type(value) is dict and len(value) == 1 and type(value.get("b64")) is str


def decode_b64(value: Any) -> bytes:
    """Decode the bytes of such an object; padding and white space do not matter.

    Raises:
        Failure: INVALID_ARGUMENT, it is no such object, or what it holds is not base64.
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
    taken = _LEAVES.get(dtype, set())
    if not set(map(type, leaves)) <= taken:
        return None
    try:
        if taken is _TEXTS:
            return strings([_text(leaf) for leaf in leaves])
        if taken is _NUMBERS:
            return _floats(leaves, dtype.as_numpy_dtype)
        if cut_integers and dtype in _NARROW:
            return np.array(leaves, np.int32).astype(dtype.as_numpy_dtype)
        return np.array(leaves, dtype.as_numpy_dtype)
    except (Failure, OverflowError):  # no base64, or an integer that does not fit
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
    taken = _LEAVES.get(dtype)
    if taken is None and type(value) is not dict:
        message = f"Conversion of JSON Value: {quote(value)} to type: {type_name(dtype)}"
        raise Failure(StatusCode.UNIMPLEMENTED, message)
    is_wrong = taken is None or type(value) not in taken
    if taken is _WHOLE and not is_wrong:
        limits = tf.int32 if cut_integers and dtype in _NARROW else dtype
        is_wrong = not limits.min <= value <= limits.max
    if is_wrong:
        raise invalid(f"JSON Value: {quote(value)} Type: {kind(value)} is not of expected type: {type_name(dtype)}")
    if taken is _NUMBERS:
        check_size(value)
    elif taken is _TEXTS:
        _text(value)
