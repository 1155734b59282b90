"""Rows of a delimited text file, such as CSV or TSV."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from operator import itemgetter
from typing import Any, BinaryIO

from tfattn import files
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.files import AnyPath
from tfattn.formats.columns import Columns, as_columns, columns_in, missing_columns, value_of
from tfattn.formats.delimiters import likely_delimiter
from tfattn.formats.limits import MAX_ROW_LENGTH, MAX_TEXT_LENGTH, too_long
from tfattn.formats.numbers import NUMBER
from tfattn.formats.parts import Part, Span, rest_of_line
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import check_encoding, lines, parts
from tfattn.formats.training_file import FileFormat

SNIFFED_LINES = 20

Column = str | int
Read = Callable[[list[str]], Any]


class CsvFile(Source):
    """A delimited text file. A field has at most 1,048,576 characters, a row 16,777,216.

    Args:
        path: the file, or its remote address: gs://bucket/rows.csv; names with .gz or .bz2 are decompressed.
        fields: role: column. Roles are `text`, or `text_a` and `text_b`, and `label`. A column is a name of the header,
            or a number from 1 without a header. A list of columns gives a list of texts, such as choices; a nested list
            joins the texts of its columns by spaces.
        delimiter: separator of fields; by default a tab for names with .tsv, otherwise a comma.
        encoding: the encoding of the file; a byte-order mark is skipped.
        quoting: whether fields may be in double quotes, and then have delimiters and line breaks.
        header: whether the first row has the names of columns.

    Raises:
        ConfigError: the delimiter is not one character, the encoding is unknown, or a column is not a number although
            there is no header.

    Example:
        source = CsvFile(path="reports.csv", fields={"text": "Description", "label": "Category"})
        for row in source.rows():
            print(row.where, row.fields["text"], row.fields["label"])
    """

    def __init__(
        self,
        *,
        path: str,
        fields: dict[str, Column | list[Column | list[Column]]],
        delimiter: str | None = None,
        encoding: str = "utf-8",
        quoting: bool = True,
        header: bool = True,
    ):
        check_encoding(encoding)
        self.path = files.unpacked(path)
        self.fields = {role: as_columns(columns) for role, columns in fields.items()}
        self.delimiter = delimiter or ("\t" if self.path.suffix.lower() == ".tsv" else ",")
        self.encoding = encoding
        self.quoting = quoting
        self.header = header
        self.format = FileFormat("csv", encoding, self.delimiter, quoting, header)
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise ConfigError(
                "the delimiter cannot be used", key="delimiter", expected="one character", received=repr(delimiter)
            )
        for role, columns in self.fields.items():
            for column in columns_in(columns):
                if not header and not (column.isdecimal() and int(column) >= 1):
                    raise ConfigError(
                        "without a header, columns are counted",
                        key=f"fields.{role}",
                        expected="a column number from 1",
                        received=repr(column),
                    )

    def parts(self) -> Iterator[Part]:
        return (Part((span,)) for span in parts(self.path, self.encoding, finish=self._rest_of_row))

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read every row that is not blank, in the order of the file."""
        columns: dict[str, Read] | None = None
        width = count = 0
        [span] = (part or Part()).spans
        is_first = span is None or span.begin == 0
        if not is_first:
            where, record = next(self._records())
            width, columns = len(record), self._columns(record, where)
        for where, record in self._records(span):
            if columns is None:
                width, columns = len(record), self._columns(record, where)
                if self.header:
                    continue
            if len(record) != width:
                raise self._ragged(record, width, where)
            count += 1
            yield Row({role: read(record) for role, read in columns.items()}, where)
        if count == 0 and span is None:
            what = "the file holds a header but no rows" if columns else "the file holds no rows"
            raise DataError(
                what, where=str(self.path), remedy="If the first row is data, set `header: false`." * bool(columns)
            )

    def _rest_of_row(self, chunk: bytes, file: BinaryIO) -> bytes | None:
        """Read the rest of the last row of a chunk; None if its end cannot be determined."""
        chunk_end = file.tell()
        rest = rest_of_line(file)
        if rest is None or not self.quoting or b'"' not in chunk and b'"' not in rest:
            return rest
        # A quoted field may have line feeds, so the end of the last row is known only after parsing the chunk.
        read = 0

        def decoded() -> Iterator[str]:
            nonlocal read
            for line in chain((chunk + rest).splitlines(keepends=True), iter(file.readline, b"")):
                read += len(line)
                yield line.decode(self.encoding)

        csv.field_size_limit(MAX_TEXT_LENGTH)
        try:
            for _ in csv.reader(decoded(), strict=True, **self._dialect):
                if read >= len(chunk):
                    break
        except (csv.Error, UnicodeError):
            return None
        finally:
            file.seek(chunk_end)
        return file.read(read - len(chunk))

    def _records(self, span: Span | None = None) -> Iterator[tuple[str, list[str]]]:
        csv.field_size_limit(MAX_TEXT_LENGTH)
        row = _RowLines(self.path, self.encoding, span)
        reader = csv.reader(row, strict=True, **self._dialect)
        while True:
            row.start()
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise self._unreadable(row, str(error)) from None
            if record:
                yield row.where, record

    @property
    def _dialect(self) -> dict[str, Any]:
        return {"delimiter": self.delimiter, "quoting": csv.QUOTE_MINIMAL if self.quoting else csv.QUOTE_NONE}

    def _unreadable(self, row: "_RowLines", error: str) -> DataError:
        """Create the error of an unreadable row, with the location of the invalid field."""
        quotes = "if quotes are plain text, set `quoting: false`."
        if error.startswith("field larger"):
            line, column = self._unfinished(row)
            cause = f"If a double quote opens it that is never closed, close it; {quotes}" if self.quoting else ""
            return too_long(f"the field in column {column}", f"{self.path}:{line}", MAX_TEXT_LENGTH, cause=cause)
        if error.startswith("unexpected end"):
            line, column = self._unfinished(row)
            return DataError(
                f"the double quote that opens the field in column {column} is never closed",
                where=f"{self.path}:{line}",
                remedy=f"Close it; {quotes}",
            )
        remedy = f'A double quote inside a quoted field is written twice (""); {quotes}'
        return DataError(f"the row cannot be read ({error})", where=row.where, remedy=remedy)

    def _unfinished(self, row: "_RowLines") -> tuple[int, int]:
        """Return line and column, from 1, of the field that is too long, or of the last field, which is not closed."""
        csv.field_size_limit(2 * MAX_ROW_LENGTH)
        [fields] = csv.reader(row.lines, **self._dialect)
        column = next((index for index, field in enumerate(fields) if len(field) > MAX_TEXT_LENGTH), len(fields) - 1)
        lines_before = sum(len(re.findall("\r\n|\r|\n", field)) for field in fields[:column])
        return row.first + lines_before, column + 1

    def _ragged(self, record: list[str], width: int, where: str) -> DataError:
        """Create the error of a row with another number of fields than the first row."""
        if len(record) == width + 1 and not record[-1]:
            remedy = "The row ends in a delimiter and the first row does not: end both or none with a delimiter."
        elif any(field != field.lstrip() and field.lstrip().startswith('"') for field in record):
            remedy = "A quote opens a field only directly after the delimiter: remove the spaces between both."
        else:
            remedy = (
                f"Fields that hold {self.delimiter!r} must be in double quotes; if quotes are plain text, set "
                "`quoting: false`; if something else separates fields, set `delimiter`."
            )
        return DataError(
            "the row is ragged", where=where, expected=f"{width} fields", received=str(len(record)), remedy=remedy
        )

    def _columns(self, first: list[str], where: str) -> dict[str, Read]:
        """Find the columns of each role; return a reader of its value by role."""
        names = first if self.header else [str(number) for number in range(1, len(first) + 1)]
        indices: dict[str, list[int]] = {}
        for index, name in enumerate(names):
            indices.setdefault(name, []).append(index)
        wanted = [(role, column) for role, columns in self.fields.items() for column in columns_in(columns)]
        if missing := {column: role for role, column in wanted if column not in indices}:
            raise DataError(
                missing_columns(missing.values()),
                where=where,
                expected=f"{'one' if len(missing) == 1 else 'some'} of {listed(names)}",
                received=", ".join(map(repr, missing)),
                remedy=self._remedy(next(iter(missing)), first),
            )
        for role, column in wanted:
            if len(indices[column]) > 1:
                raise DataError(
                    f"several columns are called {column!r}",
                    where=where,
                    expected=f"a single column, for `{role}`",
                    received=f"columns {listed(str(index + 1) for index in indices[column])}",
                    remedy="Rename all but one of them in the first row.",
                )
        index_of = {column: found[0] for column, found in indices.items()}
        return {
            role: itemgetter(index_of[columns]) if isinstance(columns, str) else _list_of(columns, index_of)
            for role, columns in self.fields.items()
        }

    def _remedy(self, column: str, first: list[str]) -> str:
        """Suggest a remedy for a column that is not in the first row."""
        start = first[0].lstrip().lower()
        if start.startswith("{"):
            return "The file seems to hold JSON lines: set `name: jsonl`."
        if start.startswith(("<!doctype", "<html", "<?xml")):
            return "The file seems to be a web page or XML: check where it came from."
        known = [column for columns in self.fields.values() for column in columns_in(columns)]
        delimiter = likely_delimiter(list(islice(lines(self.path, self.encoding), SNIFFED_LINES)), known)
        if delimiter not in (None, self.delimiter):
            return f"The file seems to be separated by {delimiter!r}: set `delimiter: {json.dumps(delimiter)}`."
        if not self.header:
            return ""
        if all(re.fullmatch(NUMBER, name.strip()) for name in first):
            return "All names of columns are numbers: if the first line is data, set `header: false`."
        return nearest(column, first) or (
            "The first row must have the column names: remove any lines before it; if it is data, set `header: false`."
        )


def _list_of(columns: Columns, indices: dict[str, int]) -> Read:
    return lambda record: value_of(columns, lambda column: record[indices[column]])


class _RowLines:
    """The lines of a file for a csv.reader; the lines of the current row are kept.

    Attributes:
        lines: the lines of the current row so far.
        first: number of the first line of the current row.
    """

    def __init__(self, path: AnyPath, encoding: str, span: Span | None):
        self.lines: list[str] = []
        self.first = span.line if span else 1
        self._path = path
        self._read = lines(path, encoding, span=span)
        self._size = 0

    @property
    def where(self) -> str:
        return f"{self._path}:{self.first}"

    def start(self) -> None:
        """Start a row at the next line."""
        self.first += len(self.lines)
        self.lines.clear()
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._read:
            self.lines.append(line)
            self._size += len(line)
            if self._size > MAX_ROW_LENGTH:
                raise too_long("the row", self.where, MAX_ROW_LENGTH)
            yield line
