"""Rows of a JSON Lines file."""

from collections.abc import Iterator

from tfattn import files
from tfattn.errors import DataError
from tfattn.formats.json_objects import object_of, value_of
from tfattn.formats.parts import Part
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import check_encoding, lines, parts
from tfattn.formats.training_file import FileFormat


class JsonLinesFile(Source):
    """A JSON object per line. Numbers and booleans become text, null an empty value; lists and objects are unchanged.

    A value has at most 1,048,576 characters, a line 16,777,216.

    Args:
        path: the file, or its remote address: gs://bucket/rows.jsonl; names with .gz or .bz2 are decompressed.
        fields: role: key. Roles are `text`, or `text_a` and `text_b`, and `label`; of chats `messages`, `prompt` and
            `answer`, or `instruction`, `input` and `output`.
        encoding: the encoding of the file; a byte-order mark is skipped.

    Raises:
        ConfigError: the encoding is unknown.

    Example:
        source = JsonLinesFile(path="reports.jsonl", fields={"text": "description", "label": "category"})
        for row in source.rows():
            print(row.where, row.fields["text"], row.fields["label"])
    """

    def __init__(self, *, path: str, fields: dict[str, str], encoding: str = "utf-8"):
        check_encoding(encoding)
        self.path = files.unpacked(path)
        self.fields = fields
        self.encoding = encoding
        self.format = FileFormat("jsonl", encoding)

    def parts(self) -> Iterator[Part]:
        return (Part((span,)) for span in parts(self.path, self.encoding))

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read the object of every line that is not blank, in the order of the file."""
        count = 0
        [span] = (part or Part()).spans
        for number, line in enumerate(lines(self.path, self.encoding, span=span), start=span.line if span else 1):
            if line.strip():
                count += 1
                where = f"{self.path}:{number}"
                entry = object_of(line, where)
                yield Row({role: value_of(entry, key, where) for role, key in self.fields.items()}, where)
        if count == 0 and span is None:
            raise DataError("the file holds no rows", where=str(self.path))
