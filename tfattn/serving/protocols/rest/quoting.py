"""JSON values as error messages show them, in TF Serving's words."""

import json
from typing import Any

LONGEST = 256  # characters of a value

_KINDS = {type(None): "Null", str: "String", list: "Array", dict: "Object"}
_encoder = json.JSONEncoder(ensure_ascii=False)


def quote(value: Any) -> str:
    """Write the beginning of a value's text.

    Example:
        >>> quote({"x": [1, 2.0]})
        '{"x": [1, 2.0]}'
    """
    pieces, length = [], 0
    for piece in _encoder.iterencode(value):  # piece by piece, for the whole may be large, and deep
        pieces.append(piece)
        length += len(piece)
        if length >= LONGEST:
            break
    return "".join(pieces)[:LONGEST]


def kind(value: Any) -> str:
    """Name the type of a value: Null, True, False, Number, String, Array or Object."""
    if isinstance(value, bool):
        return str(value)
    return _KINDS.get(type(value), "Number")
