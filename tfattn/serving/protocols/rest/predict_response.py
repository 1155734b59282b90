"""Serialization of predict responses: rows under `predictions`, or columns under `outputs`."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.serving.api.failure import invalid
from tfattn.serving.api.tensors import strings, type_name

BYTES = "_bytes"  # the suffix of outputs that are bytes rather than text

_SUPPORTED_TYPES = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint32, np.uint64, np.float32, np.float64, np.object_),
)
_LARGE_SIZE, _LARGE_TEXT = 16_384, 2**18  # numbers of values and text bytes, above which a thread serializes
_SLICE_LENGTH = 256  # of a list

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def write(outputs: Mapping[str, np.ndarray], *, row_format: bool, texts_as_b64: bool) -> bytes:
    """Serialize the body of a response.

    Args:
        outputs: arrays by output name; the name of a single output is omitted.
        row_format: whether the request listed rows.
        texts_as_b64: whether texts that are not UTF-8 are written as objects such as {"b64": "/w=="}, or as raw bytes,
            which makes the body invalid JSON.

    Returns:
        JSON. Float32 numbers have the fewest digits that identify them, integral floats end with ".0", and NaN,
        Infinity and -Infinity are written as such.

    Raises:
        Failure: INVALID_ARGUMENT, there are no outputs, JSON has no such type, or an output lacks a value for each row.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    names = sorted(outputs)
    if row_format:
        _check_rows({name: outputs[name] for name in names})
    columns = [_to_json_values(name, outputs[name], texts_as_b64) for name in names]
    if len(names) == 1:
        text = _to_json(columns[0])
    elif row_format:
        text = _to_json([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])
    else:
        members = (f"{_encode(name)}: {_to_json(column)}" for name, column in zip(names, columns, strict=True))
        text = f"{{{', '.join(members)}}}"
    key = "predictions" if row_format else "outputs"
    # Restores the bytes that `_raw` could not decode.
    return f'{{"{key}": {text}}}'.encode(errors="surrogateescape")


def is_large(outputs: Mapping[str, np.ndarray]) -> bool:
    """Return whether serializing outputs takes long."""
    arrays = outputs.values()
    if sum(array.size for array in arrays) > _LARGE_SIZE:
        return True
    return sum(sum(map(len, array.ravel())) for array in arrays if array.dtype == object) > _LARGE_TEXT


def _to_json(value: Any) -> str:
    """Serialize a value, long lists in slices, because the encoder blocks other threads."""
    if type(value) is not list or len(value) <= _SLICE_LENGTH:
        return _encode(value)
    slices = (value[start : start + _SLICE_LENGTH] for start in range(0, len(value), _SLICE_LENGTH))
    return f"[{', '.join(_encode(part)[1:-1] for part in slices)}]"


def _check_rows(outputs: Mapping[str, np.ndarray]) -> None:
    num_rows = None
    for name, array in outputs.items():
        if not array.ndim:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if num_rows not in (None, len(array)):
            raise invalid(f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {num_rows}")
        num_rows = len(array)


def _to_json_values(name: str, array: np.ndarray, texts_as_b64: bool) -> Any:
    if array.dtype.type not in _SUPPORTED_TYPES:
        raise invalid(f"Failed to write JSON value for tensor type: {type_name(tf.as_dtype(array.dtype))}")
    if array.dtype == np.float32:
        array = shortest_floats(array)
    elif array.dtype == object:
        write_text = _b64 if name.endswith(BYTES) else _text if texts_as_b64 else _raw
        array = strings([write_text(text) for text in array.ravel()]).reshape(array.shape)
    return array.tolist()


def _b64(text: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(text).decode()}


def _text(text: bytes) -> str | dict[str, str]:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return _b64(text)


def _raw(text: bytes) -> str:
    return text.decode(errors="surrogateescape")


# Significant digits: 9 digits identify any float32, and decimals of up to 6 digits survive the conversion.
_MAX_DIGITS, _MIN_DIGITS = 9, 6
_MAX_EXACT_POWER = 22  # 10**22 is the largest power of ten that is exact in a double
_SMALL_SIZE = 48  # up to this size converting each number is faster


def shortest_floats(numbers: np.ndarray) -> np.ndarray:
    """Convert float32 numbers to the doubles with the fewest decimal digits.

    Args:
        numbers: a float32 array of any shape.

    Returns:
        A float64 array of the same shape that equals `numbers` in float32.

    Example:
        >>> shortest_floats(np.float32([0.1, 3.0])).tolist()
        [0.1, 3.0]
    """
    if numbers.size <= _SMALL_SIZE:
        return _one_by_one(numbers)
    with np.errstate(all="ignore"):
        exact = numbers.astype(np.float64)
        result = exact.copy()  # zeros, infinities and NaN do not change
        magnitude = np.floor(np.log10(np.abs(exact)))
        for digits in range(_MAX_DIGITS, _MIN_DIGITS - 1, -1):
            decimals = digits - 1 - magnitude
            rounded = _round(exact, decimals)
            np.copyto(result, rounded, where=rounded.astype(np.float32) == numbers)
    far = np.isfinite(magnitude) & (
        (magnitude < _MAX_DIGITS - 1 - _MAX_EXACT_POWER) | (magnitude > _MIN_DIGITS - 1 + _MAX_EXACT_POWER)
    )
    result[far] = _one_by_one(numbers[far])
    return result


def _round(numbers: np.ndarray, decimals: np.ndarray) -> np.ndarray:
    """Round doubles to the given numbers of decimals; exact where the powers of ten are exact."""
    power = 10 ** np.abs(decimals)
    return np.where(decimals >= 0, np.rint(numbers * power) / power, np.rint(numbers / power) * power)


def _one_by_one(numbers: np.ndarray) -> np.ndarray:
    return np.array([float(str(number)) for number in numbers.ravel()], np.float64).reshape(numbers.shape)
