"""Rows of a file that holds a JSON object per line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfattn.data.parts import Part
from tfattn.data.source import Row, Source
from tfattn.data.text_files import LONGEST_TEXT, check_encoding, lines, parts, too_long
from tfattn.data.training_file import FileFormat
from tfattn.errors import DataError, listed, nearest


class JsonLinesFile(Source):
    """Reads a JSON object per line; numbers and booleans become text, null an empty value.

    A value may have 1,048,576 characters, a line 16,777,216.

    Args:
        path: the file.
        fields: what each key is for, role: key. Roles are `text`, or `text_a` and `text_b`, and `label`.
        encoding: the encoding of the file; a byte-order mark is left out.

    Raises:
        ConfigError: the encoding is unknown.

    Example:
        source = JsonLinesFile(path="reports.jsonl", fields={"text": "description", "label": "category"})
        for row in source.rows():
            print(row.where, row.fields["text"], row.fields["label"])
    """

    def __init__(self, *, path: str, fields: dict[str, str], encoding: str = "utf-8"):
        check_encoding(encoding)
        self.path = Path(path)
        self.fields = fields
        self.encoding = encoding
        self.format = FileFormat("jsonl", encoding)

    def parts(self) -> Iterator[Part]:
        return (Part((span,)) for span in parts(self.path, self.encoding))

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Reads the object of every line that is not blank, in the order of the file."""
        count = 0
        [span] = (part or Part()).spans
        for number, line in enumerate(lines(self.path, self.encoding, span=span), start=span.line if span else 1):
            if line.strip():
                count += 1
                where = f"{self.path}:{number}"
                entry = object_of(line, where)
                yield Row({role: text_of(entry, key, where) for role, key in self.fields.items()}, where)
        if count == 0 and span is None:
            raise DataError("the file holds no rows", where=str(self.path))


def object_of(line: str, where: str) -> dict[str, Any]:
    """The object that a line is.

    Raises:
        DataError: it is none; names the place.
    """
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        remedy = "Each line is one whole object; `jq -c .` writes it so, `jq -c '.[]'` the objects of a list."
        raise DataError(f"the row is not JSON ({error})", where=where, remedy=remedy) from None
    if not isinstance(entry, dict):
        raise DataError(
            "the row is not an object", where=where, expected='{"key": value, ...}', received=line.strip()[:40]
        )
    return entry


def text_of(entry: dict[str, Any], key: str, where: str) -> str:
    """A value as text: numbers and booleans as JSON writes them, null as an empty one.

    Raises:
        DataError: the key is missing, or its value is nested or not Unicode text; names the place.
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
    if len(text) > LONGEST_TEXT:
        raise too_long(f"the value of {key!r}", where, LONGEST_TEXT)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise DataError(f"the value of {key!r} holds half of a surrogate pair", where=where, remedy="Repair the row.")
    return text
