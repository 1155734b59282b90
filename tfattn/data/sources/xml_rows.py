"""Streaming of rows of XML files, in the memory of one row, from elements, attributes and text.

Files that declare entities are refused, because a few lines of entities can expand to gigabytes of text or include
local files.
"""

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.parsers import expat

from tfattn.errors import DataError
from tfattn.files import AnyPath
from tfattn.formats.file_kinds import CHUNK, HEAD, check_kind, first_undecodable, likely_encoding, not_text
from tfattn.formats.limits import MAX_ROW_LENGTH, too_long
from tfattn.formats.text_files import check_is_file

MAX_DEPTH = 256  # nested elements
_DECLARED = re.compile(rb"""^<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)["']""")


class XmlRow(NamedTuple):
    """An element of a row.

    Attributes:
        line: line number of the start of the element.
        values: by field, the text of each element or attribute at the path of the field, in order.
    """

    line: int
    values: dict[str, list[str]]


def xml_rows(path: AnyPath, row: str, fields: Mapping[str, str], *, encoding: str | None = None) -> Iterator[XmlRow]:
    """Read the rows of an XML file.

    Args:
        path: the file.
        row: path from the root to the elements of rows, such as `mediawiki/page`.
        fields: field -> path in a row, such as `revision/text`, or `revision/@id` for an attribute. The text of an
            element includes the text of nested elements.
        encoding: encoding of the file; by default the declared encoding.

    Raises:
        DataError: the file is not XML, not in its encoding, or declares entities; names line and column.
    """
    check_is_file(path)
    check_kind(path)
    encoding = encoding or encoding_of(path)
    rows = _Rows(path, row, fields)
    with path.open("rb") as file:
        decoder = codecs.getincrementaldecoder(encoding)()
        is_empty = True
        while True:
            data = file.read(CHUNK)
            is_empty = is_empty and not data
            if is_empty and not data:
                raise DataError("the file is empty", where=str(path), remedy="Check `path`.")
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeError:
                raise not_text(path, encoding, first_undecodable(path, encoding)) from None
            yield from rows.read(text, is_last=not data)
            if not data:
                return


def encoding_of(path: AnyPath) -> str:
    """Determine the encoding of an XML file by byte-order mark or declaration; UTF-8 otherwise.

    Raises:
        DataError: the declared encoding is unknown.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
    declared = _DECLARED.search(head.lstrip(b"\xef\xbb\xbf"))
    encoding = likely_encoding(head, "ascii") if not declared or head[:1] != b"<" else declared[1].decode()
    try:
        return codecs.lookup(encoding or "utf-8").name
    except LookupError:
        raise DataError(
            "the file declares an unknown encoding",
            where=f"{path}:1",
            received=encoding,
            remedy="Set `encoding:` to that of the file.",
        ) from None


class _Rows:
    """An incremental parser of rows."""

    def __init__(self, path: AnyPath, row: str, fields: Mapping[str, str]):
        self._path = path
        self._row = row.split("/")
        self._fields = {name: inner.split("/") for name, inner in fields.items()}
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse_entity
        self._elements: list[str] = []
        self._done: list[XmlRow] = []
        self._current: XmlRow | None = None
        self._open: list[tuple[int, str, list[str]]] = []  # open elements of fields: depth, field, pieces of text
        self._characters = 0

    def read(self, text: str, *, is_last: bool) -> Sequence[XmlRow]:
        """Parse a piece of text, and return the rows that end in it."""
        try:
            self._parser.Parse(text, is_last)
        except expat.ExpatError as error:
            raise DataError(
                "the file is not well-formed XML",
                where=f"{self._path}:{error.lineno}:{error.offset + 1}",
                received=expat.ErrorString(error.code),
            ) from None
        done, self._done = self._done, []
        return done

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements.append(name)
        if len(self._elements) > MAX_DEPTH:
            raise DataError("elements are nested too deeply", where=self._where, expected=f"{MAX_DEPTH} at most")
        if self._current is None and self._elements == self._row:
            self._current = XmlRow(self._parser.CurrentLineNumber, {name: [] for name in self._fields})
            self._characters = 0
        if self._current is not None:
            inside = self._elements[len(self._row) :]
            for field, path in self._fields.items():
                if path == inside or (path == ["."] and not inside):
                    self._open.append((len(self._elements), field, []))
                elif path[-1][:1] == "@" and path[:-1] == inside and path[-1][1:] in attributes:
                    self._current.values[field].append(attributes[path[-1][1:]])

    def _text(self, text: str) -> None:
        for _, _, pieces in self._open:
            pieces.append(text)
            self._characters += len(text)
        if self._characters > MAX_ROW_LENGTH:
            raise too_long("the row", f"{self._path}:{self._current.line}", MAX_ROW_LENGTH)

    def _end(self, name: str) -> None:
        while self._open and self._open[-1][0] == len(self._elements):
            _, field, pieces = self._open.pop()
            self._current.values[field].append("".join(pieces))
        if self._current is not None and len(self._elements) == len(self._row):
            self._done.append(self._current)
            self._current = None
        self._elements.pop()

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise DataError(
            "the file declares entities, which can grow without end",
            where=self._where,
            expected="elements and text alone",
            received=f"the entity `{name}`",
            remedy="Replace each by its content, if you trust the file.",
        )

    @property
    def _where(self) -> str:
        return f"{self._path}:{self._parser.CurrentLineNumber}"
