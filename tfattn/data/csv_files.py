"""Rows of a table in a text file: comma, tab or otherwise separated."""

import csv
from collections.abc import Iterator
from pathlib import Path

from tfattn.data.source import Row, Source, check_encoding, lines
from tfattn.data.training_file import FileFormat
from tfattn.errors import ConfigError, DataError, nearest

# Python's own limit, 131,072 characters, is shorter than some documents.
LONGEST_FIELD = 1 << 26


class CsvFile(Source):
    """Reads a table, such as a spreadsheet saves it.

    Args:
        path: the file.
        fields: what each column is for, role: column. Roles are `text`, or `text_a` and `text_b`, and `label`; a
            column is named as in the header, or counted from 1 where there is none.
        delimiter: what stands between fields; by default a tab where the file's name ends in .tsv, else a comma.
        encoding: the encoding of the file; a byte-order mark is left out.
        quoting: whether a field may stand in double quotes, so that it can hold delimiters and line breaks.
        header: whether the first row names the columns.

    Raises:
        ConfigError: the delimiter is not one character, the encoding is unknown, or a column is not a number where
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
        fields: dict[str, str | int],
        delimiter: str | None = None,
        encoding: str = "utf-8",
        quoting: bool = True,
        header: bool = True,
    ):
        check_encoding(encoding)
        self.path = Path(path)
        self.fields = {role: str(column) for role, column in fields.items()}
        self.delimiter = delimiter or ("\t" if self.path.suffix.lower() == ".tsv" else ",")
        self.encoding = encoding
        self.quoting = quoting
        self.header = header
        self.format = FileFormat("csv", encoding, self.delimiter, quoting, header)
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise ConfigError(
                "the delimiter cannot be used", key="delimiter", expected="one character", received=repr(delimiter)
            )
        for role, column in self.fields.items():
            if not header and not (column.isdecimal() and int(column) >= 1):
                raise ConfigError(
                    "without a header, columns are counted",
                    key=f"fields.{role}",
                    expected="a column number from 1",
                    received=repr(column),
                )

    def rows(self) -> Iterator[Row]:
        """Every row that is not blank, in the order of the file."""
        columns: dict[str, int] | None = None
        width = count = 0
        for where, record in self._records():
            if columns is None:
                width, columns = len(record), self._columns(record, where)
                if self.header:
                    continue
            if len(record) != width:
                raise DataError(
                    "the row is ragged",
                    where=where,
                    expected=f"{width} fields",
                    received=str(len(record)),
                    remedy=f"Fields that hold {self.delimiter!r} must stand in double quotes; if quotes are plain "
                    "text, set `quoting: false`; if something else separates fields, set `delimiter`.",
                )
            count += 1
            yield Row({role: record[column] for role, column in columns.items()}, where)
        if count == 0:
            what = "the file holds a header but no rows" if columns else "the file holds no rows"
            raise DataError(
                what, where=str(self.path), remedy="If the first row is data, set `header: false`." * bool(columns)
            )

    def _records(self) -> Iterator[tuple[str, list[str]]]:
        csv.field_size_limit(LONGEST_FIELD)
        quoting = csv.QUOTE_MINIMAL if self.quoting else csv.QUOTE_NONE
        reader = csv.reader(lines(self.path, self.encoding), delimiter=self.delimiter, quoting=quoting, strict=True)
        while True:
            where = f"{self.path}:{reader.line_num + 1}"
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(
                    f"the row cannot be read ({error})",
                    where=where,
                    remedy='A double quote inside a quoted field is written twice (""); if quotes are plain text, set '
                    "`quoting: false`.",
                ) from None
            if record:
                yield where, record

    def _columns(self, first: list[str], where: str) -> dict[str, int]:
        """Where the column of each role stands."""
        if not self.header:
            first = [str(number) for number in range(1, len(first) + 1)]
        for role, column in self.fields.items():
            if first.count(column) != 1:
                raise DataError(
                    f"there is no column for `{role}`" if column not in first else "two columns have the same name",
                    where=where,
                    expected=f"one of {', '.join(first)}" if column not in first else f"one column {column!r}",
                    received=repr(column) if column not in first else str(first.count(column)),
                    remedy=nearest(column, first),
                )
        return {role: first.index(column) for role, column in self.fields.items()}
