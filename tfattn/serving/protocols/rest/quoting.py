"""JSON values in error messages, in TF Serving's format."""

import json
from typing import Any

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
