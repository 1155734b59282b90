"""JSON parsing of request bodies, compatible with RapidJSON in TF Serving.

Python's scanner parses the body, with a few differences: the first of equal keys counts; text after the value is
ignored; `Inf`, `-Inf` and `-NaN` are read like `Infinity`, `-Infinity` and `NaN`. Escapes of half a surrogate pair,
which UTF-8 cannot encode, and values above the nesting limit are refused.
"""

import json
import math
import re
from typing import Any

import numpy as np

from tfattn.serving.api.failure import Failure, invalid

LARGE = 2**18  # bytes; larger bodies are parsed in a thread

_WHITE_SPACE = " \t\n\r\ufeff"  # includes the byte order mark that some clients send first
_STRING = r'"(?:[^"\\]|\\.)*+"'
_SHORT_CONSTANTS = re.compile(rf"{_STRING}|(?<!-)-NaN\b|\bInf\b", re.DOTALL)
_WITHOUT_HALF_PAIRS = re.compile(r"(?:[^\\]++|\\(?!u[dD][89a-fA-F]).|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*+", re.DOTALL)

_QUOTED = re.compile(rb'"[^"]*"?')
_BRACKETS_AND_QUOTES = b'[]{}"'
_OTHER_BYTES = bytes(set(range(256)) - set(_BRACKETS_AND_QUOTES))
_DEPTH_CHANGES = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: 1 deeper, 1 back


class Spelled(float):
    """A NaN or infinity that is spelled out in the text, unlike the overflow of a large number."""


_SPELLED = {token: Spelled(token) for token in ("NaN", "Infinity", "-Infinity")}


def parse(body: bytes, *, max_nesting: int) -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        body: UTF-8 text.
        max_nesting: the maximum depth of lists and objects; 0 for only Python's own limit.

    Returns:
        Python values. NaN and infinities in the text are `Spelled`. Any other infinite float is an overflow, which
        callers refuse with `check_size`.

    Raises:
        Failure: INVALID_ARGUMENT, the body is not a JSON object in UTF-8.
    """
    if not body:
        raise _parse_error("The document is empty")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _parse_error(f"Invalid UTF-8 at offset: {error.start}") from None
    # Counting brackets is fast, and the count bounds the depth.
    if 0 < max_nesting < text.count("[") + text.count("{") and _depth(body) > max_nesting:
        raise _parse_error(f"Nested deeper than {max_nesting} levels")
    if "\\ud" in text or "\\uD" in text:
        _check_pairs(text)
    value = _value(text)
    if type(value) is not dict:
        raise invalid(f"JSON Value: {quote(value)} Is not object")
    return value


def check_size(number: float) -> None:
    """Refuse a number that overflowed.

    Raises:
        Failure: INVALID_ARGUMENT, the number exceeds the range of a double.
    """
    try:
        too_big = math.isinf(number) and type(number) is not Spelled
    except OverflowError:  # an integer beyond doubles
        too_big = True
    if too_big:
        raise _parse_error("Number too big to be stored in double.")


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        members = {}
        for name, value in pairs:
            members.setdefault(name, value)
    return members


def _float(text: str) -> float:
    return float(text)


def _int(text: str) -> int:
    return int(text)


_HOOKS = {"object_pairs_hook": _first_wins, "parse_constant": _SPELLED.__getitem__}
_scan = json.JSONDecoder(**_HOOKS).scan_once
# The scanner releases the GIL only in calls of Python functions, here for each number, which is slower.
_scan_large = json.JSONDecoder(**_HOOKS, parse_float=_float, parse_int=_int).scan_once


def _value(text: str) -> Any:
    start = 0 if text[0] not in _WHITE_SPACE else len(text) - len(text.lstrip(_WHITE_SPACE))
    if start == len(text):
        raise _parse_error("The document is empty")
    try:
        return (_scan_large if len(text) > LARGE else _scan)(text, start)[0]
    except StopIteration as stop:
        if text.startswith(("Inf", "-Inf", "-NaN"), stop.value):
            respelled = _SHORT_CONSTANTS.sub(_long_constant, text)
            if respelled != text:
                return _value(respelled)
        raise _parse_error_at("Invalid value.", text, stop.value) from None
    except json.JSONDecodeError as error:
        raise _parse_error_at(error.msg.removesuffix(" at"), text, error.pos) from None
    except RecursionError:
        raise _parse_error("Nested too deep") from None
    except ValueError:  # an integer of more digits than Python reads
        raise _parse_error("Number too big to be stored in double.") from None


def _long_constant(token: re.Match) -> str:
    return {"Inf": "Infinity", "-NaN": "NaN"}.get(token[0], token[0])


def _check_pairs(text: str) -> None:
    end = _WITHOUT_HALF_PAIRS.match(text).end()
    # The scanner refuses a backslash at the end.
    if text.startswith("\\u", end):
        raise _parse_error_at("The surrogate pair in string is invalid.", text, end)


def _depth(body: bytes) -> int:
    """Return the depth of nesting of the first value."""
    marks = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHER_BYTES)
    marks = _QUOTED.sub(b"", marks)
    levels = np.frombuffer(marks.translate(_DEPTH_CHANGES), np.int8).cumsum(dtype=np.int64)
    ends = np.flatnonzero(levels <= 0)
    return int(levels[: ends[0] if ends.size else None].max(initial=0))


def _parse_error_at(message: str, text: str, position: int) -> Failure:
    return _parse_error(f"{message} at offset: {len(text[:position].encode())}")


def _parse_error(message: str) -> Failure:
    return invalid(f"JSON Parse error: {message}")


MAX_LENGTH = 256  # characters of a value

_KINDS = {type(None): "Null", str: "String", list: "Array", dict: "Object"}
_encoder = json.JSONEncoder(ensure_ascii=False)


def quote(value: Any) -> str:
    """Return the JSON text of a value, truncated to MAX_LENGTH characters.

    Example:
        >>> quote({"x": [1, 2.0]})
        '{"x": [1, 2.0]}'
    """
    pieces, length = [], 0
    for piece in _encoder.iterencode(value):  # incrementally, because the value may be large
        pieces.append(piece)
        length += len(piece)
        if length >= MAX_LENGTH:
            break
    return "".join(pieces)[:MAX_LENGTH]


def kind(value: Any) -> str:
    """Return the name of a value's type: Null, True, False, Number, String, Array or Object."""
    if isinstance(value, bool):
        return str(value)
    return _KINDS.get(type(value), "Number")
