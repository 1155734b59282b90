"""JSON objects of lines, and their values as text."""

import json
from typing import Any

from tfattn.errors import DataError, listed, nearest
from tfattn.formats.limits import MAX_TEXT_LENGTH, too_long


def object_of(line: str, where: str) -> dict[str, Any]:
    """Parse a line as a JSON object.

    Args:
        line: the text.
        where: file and line number, for the message.

    Raises:
        DataError: the line is not a JSON object; names file and line.
    """
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        remedy = "Write a whole object per line: with `jq -c .`, or with `jq -c '.[]'` for a list of objects."
        raise DataError(f"the row is not JSON ({error})", where=where, remedy=remedy) from None
    if not isinstance(entry, dict):
        raise DataError(
            "the row is not an object", where=where, expected='{"key": value, ...}', received=line.strip()[:40]
        )
    return entry


def value_of(entry: dict[str, Any], key: str, where: str) -> Any:
    """Read a value: lists and objects unchanged, other values as text; raises as `text_of`."""
    value = entry.get(key)
    if not isinstance(value, (dict, list)):
        return text_of(entry, key, where)
    _check_unicode(json.dumps(value, ensure_ascii=False), key, where)
    return value


def texts_of(entry: dict[str, Any], key: str, where: str) -> list[str]:
    """Read a value that is a list of texts.

    Raises:
        DataError: the key is missing, or the value is not a list of Unicode texts; names file and line.
    """
    value = value_of(entry, key, where)
    if not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
        raise DataError(
            f"the value of {key!r} is not a list of texts",
            where=where,
            expected='a list such as ["yes", "no"]',
            received=json.dumps(value, ensure_ascii=False)[:40],
        )
    return value


def text_of(entry: dict[str, Any], key: str, where: str) -> str:
    """Read a value as text: numbers and booleans in JSON notation, null as an empty text.

    Args:
        entry: the object.
        key: the key of the value.
        where: file and line number, for the message.

    Raises:
        DataError: the key is missing, or the value is nested or not Unicode text; names file and line.
    """
    if key not in entry:
        expected = f"one of {listed(entry)}"
        raise DataError(
            "a key is missing", where=where, expected=expected, received=repr(key), remedy=nearest(key, entry)
        )
    value = entry[key]
    if isinstance(value, (dict, list)):
        raise DataError(
            f"the value of {key!r} is nested", where=where, expected="text", received=json.dumps(value)[:40]
        )
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    if len(text) > MAX_TEXT_LENGTH:
        raise too_long(f"the value of {key!r}", where, MAX_TEXT_LENGTH)
    _check_unicode(text, key, where)
    return text


def _check_unicode(text: str, key: str, where: str) -> None:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"the value of {key!r} has half of a surrogate pair", where=where, remedy="Repair the row.")
