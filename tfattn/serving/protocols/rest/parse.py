"""Parsing of a request's body, as RapidJSON does it for TF Serving.

Python's own scanner reads it, with a few differences: of equal keys the first counts; what follows the value is
ignored; `Inf`, `-Inf` and `-NaN` are numbers as `Infinity`, `-Infinity` and `NaN` are. Escapes that are half of a
surrogate pair, which UTF-8 cannot say, and values that are nested too deep are refused.
"""

import json
import math
import re
from typing import Any

import numpy as np

from tfattn.serving.api.failure import Failure, invalid
from tfattn.serving.protocols.rest.quoting import quote

LARGE = 2**18  # bytes, which are to be read in a thread

_WHITE_SPACE = " \t\n\r\ufeff"  # and the byte order mark that some clients begin with
_STRING = r'"(?:[^"\\]|\\.)*+"'
_SHORT_FORMS = re.compile(rf"{_STRING}|(?<!-)-NaN\b|\bInf\b", re.DOTALL)
_WITHOUT_HALF_PAIRS = re.compile(r"(?:[^\\]++|\\(?!u[dD][89a-fA-F]).|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*+", re.DOTALL)

_QUOTED = re.compile(rb'"[^"]*"?')
_MARKS = b'[]{}"'
_NO_MARKS = bytes(set(range(256)) - set(_MARKS))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: 1 deeper, 1 back


class Spelled(float):
    """A NaN or infinity that is spelled in the text, unlike one that comes of a number too large."""


_SPELLED = {token: Spelled(token) for token in ("NaN", "Infinity", "-Infinity")}


def parse(body: bytes, *, max_nesting: int) -> dict[str, Any]:
    """Parse a JSON object.

    Args:
        body: its text in UTF-8.
        max_nesting: how deep lists and objects may be nested; 0 for no limit but Python's own.

    Returns:
        dicts, lists, str, int, float, bool and None. NaN and the infinities are `Spelled`: an infinite float that is
        not was a number too big, which whoever uses it refuses by `check_size`.

    Raises:
        Failure: INVALID_ARGUMENT, it is no such text.
    """
    if not body:
        raise _wrong("The document is empty")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _wrong(f"Invalid UTF-8 at offset: {error.start}") from None
    # The number of brackets is found at once; where it is small, so is the depth.
    if 0 < max_nesting < text.count("[") + text.count("{") and _depth(body) > max_nesting:
        raise _wrong(f"Nested deeper than {max_nesting} levels")
    if "\\ud" in text or "\\uD" in text:
        _check_pairs(text)
    value = _value(text)
    if type(value) is not dict:
        raise invalid(f"JSON Value: {quote(value)} Is not object")
    return value


def check_size(number: float) -> None:
    """Refuse a number that was too large.

    Raises:
        Failure: INVALID_ARGUMENT, it is beyond what a double can say.
    """
    try:
        too_big = math.isinf(number) and type(number) is not Spelled
    except OverflowError:  # an integer beyond doubles
        too_big = True
    if too_big:
        raise _wrong("Number too big to be stored in double.")


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
# The scanner lets other threads go on only while it calls Python: here for each number, which takes its time.
_scan_large = json.JSONDecoder(**_HOOKS, parse_float=_float, parse_int=_int).scan_once


def _value(text: str) -> Any:
    start = 0 if text[0] not in _WHITE_SPACE else len(text) - len(text.lstrip(_WHITE_SPACE))
    if start == len(text):
        raise _wrong("The document is empty")
    try:
        return (_scan_large if len(text) > LARGE else _scan)(text, start)[0]
    except StopIteration as stop:
        if text.startswith(("Inf", "-Inf", "-NaN"), stop.value):
            respelled = _SHORT_FORMS.sub(_long_form, text)
            if respelled != text:
                return _value(respelled)
        raise _wrong_at("Invalid value.", text, stop.value) from None
    except json.JSONDecodeError as error:
        raise _wrong_at(error.msg.removesuffix(" at"), text, error.pos) from None
    except RecursionError:
        raise _wrong("Nested too deep") from None
    except ValueError:  # an integer of more digits than Python reads
        raise _wrong("Number too big to be stored in double.") from None


def _long_form(token: re.Match) -> str:
    return {"Inf": "Infinity", "-NaN": "NaN"}.get(token[0], token[0])


def _check_pairs(text: str) -> None:
    end = _WITHOUT_HALF_PAIRS.match(text).end()
    # A backslash at the very end is the scanner's to refuse.
    if text.startswith("\\u", end):
        raise _wrong_at("The surrogate pair in string is invalid.", text, end)


def _depth(body: bytes) -> int:
    """Return the depth of nesting of the first value."""
    marks = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    marks = _QUOTED.sub(b"", marks)
    levels = np.frombuffer(marks.translate(_STEPS), np.int8).cumsum(dtype=np.int64)
    ends = np.flatnonzero(levels <= 0)
    return int(levels[: ends[0] if ends.size else None].max(initial=0))


def _wrong_at(what: str, text: str, position: int) -> Failure:
    return _wrong(f"{what} at offset: {len(text[:position].encode())}")


def _wrong(what: str) -> Failure:
    return invalid(f"JSON Parse error: {what}")
