"""The body of a predict response: rows under `predictions`, or columns under `outputs`."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.serving.api.failure import invalid
from tfattn.serving.api.tensors import strings, type_name
from tfattn.serving.protocols.rest.decimals import shortest

BYTES = "_bytes"  # an output whose name ends so is bytes rather than text

_WRITTEN = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint32, np.uint64, np.float32, np.float64, np.object_),
)
_LARGE_COUNT, _LARGE_TEXT = 16_384, 2**18  # values, and bytes of texts, that the event loop must not wait for
_SLICE = 256  # of a list

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def write(outputs: Mapping[str, np.ndarray], *, by_rows: bool, texts_as_b64: bool) -> bytes:
    """Write the body of a response.

    Args:
        outputs: name to array; the name of a single one is left out.
        by_rows: whether the request came in rows.
        texts_as_b64: whether texts that are not UTF-8 are written as objects such as {"b64": "/w=="}, rather than as
            the bytes they are, which makes the whole no JSON.

    Returns:
        JSON; float32 numbers with as few digits as say them exactly, whole ones with ".0", and NaN, Infinity and
        -Infinity as such.

    Raises:
        Failure: INVALID_ARGUMENT, there are no outputs, JSON cannot say them, or they are not one for each row.
    """
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    names = sorted(outputs)
    if by_rows:
        _check_rows({name: outputs[name] for name in names})
    columns = [_plain(name, outputs[name], texts_as_b64) for name in names]
    if len(names) == 1:
        text = _text_of(columns[0])
    elif by_rows:
        text = _text_of([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])
    else:
        members = (f"{_encode(name)}: {_text_of(column)}" for name, column in zip(names, columns, strict=True))
        text = f"{{{', '.join(members)}}}"
    key = "predictions" if by_rows else "outputs"
    # What `_raw` could not decode becomes the bytes that it was.
    return f'{{"{key}": {text}}}'.encode(errors="surrogateescape")


def is_large(outputs: Mapping[str, np.ndarray]) -> bool:
    """Tell whether writing outputs takes long."""
    arrays = outputs.values()
    if sum(array.size for array in arrays) > _LARGE_COUNT:
        return True
    return sum(sum(map(len, array.ravel())) for array in arrays if array.dtype == object) > _LARGE_TEXT


def _text_of(value: Any) -> str:
    """Write JSON, long lists in slices, because no other thread can run while one is written."""
    if type(value) is not list or len(value) <= _SLICE:
        return _encode(value)
    slices = (value[start : start + _SLICE] for start in range(0, len(value), _SLICE))
    return f"[{', '.join(_encode(part)[1:-1] for part in slices)}]"


def _check_rows(outputs: Mapping[str, np.ndarray]) -> None:
    num_rows = None
    for name, array in outputs.items():
        if not array.ndim:
            raise invalid(f"Tensor name: {name} has no shape information ")
        if num_rows not in (None, len(array)):
            raise invalid(f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {num_rows}")
        num_rows = len(array)


def _plain(name: str, array: np.ndarray, texts_as_b64: bool) -> Any:
    if array.dtype.type not in _WRITTEN:
        raise invalid(f"Failed to write JSON value for tensor type: {type_name(tf.as_dtype(array.dtype))}")
    if array.dtype == np.float32:
        array = shortest(array)
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
