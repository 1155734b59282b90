"""Rows of a sheet of an Excel workbook."""

import contextlib
import itertools
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from tfattn.errors import DataError, listed, nearest
from tfattn.formats.record_files import RecordFile
from tfattn.formats.text_files import check_is_file
from tfattn.formats.training_file import FileFormat


class ExcelFile(RecordFile):
    """A sheet of an Excel workbook (.xlsx). Numbers, dates and booleans become text; the first row names the columns.

    Formulas have the value that Excel computed. Empty rows, and columns without a name, are skipped. Requires the
    package openpyxl.

    Args:
        path: the file, or its remote address: gs://bucket/rows.xlsx.
        fields: role: column, as of the source `csv`.
        sheet: the name of the sheet; by default the first.

    Raises:
        ConfigError: openpyxl is not installed.

    Example:
        source = ExcelFile(path="reports.xlsx", fields={"text": "Description", "label": "Category"})
        for row in source.rows():
            print(row.where, row.fields["text"], row.fields["label"])
    """

    kind, package, extra = "excel", "openpyxl", "excel"

    def __init__(self, *, path: str, fields: dict[str, str | list[str | list[str]]], sheet: str | None = None):
        super().__init__(path=path, fields=fields)
        self.sheet = sheet
        self.format = FileFormat(self.kind, options={} if sheet is None else {"sheet": sheet})

    def names(self) -> list[str]:
        with self._opened() as rows:
            return [name for name in _header(rows) if name]

    def records(self, names: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        with self._opened() as rows:
            header = _header(rows)
            index_of = {name: header.index(name) for name in names}
            for number, cells in enumerate(rows, start=2):
                if any(cell is not None for cell in cells):
                    padded = [*cells, *[None] * (len(header) - len(cells))]
                    yield number, {name: _whole(padded[index]) for name, index in index_of.items()}

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Open the sheet, and yield its rows of cells."""
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException

        check_is_file(self.path)
        with self.path.open("rb") as file:
            try:
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
                raise DataError(
                    "the file cannot be read as an Excel workbook",
                    where=str(self.path),
                    received=str(error).splitlines()[0],
                    remedy="Save it as .xlsx, or as csv in UTF-8.",
                ) from None
            if self.sheet is not None and self.sheet not in book.sheetnames:
                raise DataError(
                    "the workbook has no such sheet",
                    where=str(self.path),
                    expected=f"one of {listed(book.sheetnames)}",
                    received=repr(self.sheet),
                    remedy=nearest(self.sheet, book.sheetnames),
                )
            sheet = book.worksheets[0] if self.sheet is None else book[self.sheet]
            sheet.reset_dimensions()  # some programs write wrong dimensions
            try:
                yield sheet.iter_rows(values_only=True)
            finally:
                book.close()


def _header(rows: Iterator[tuple[Any, ...]]) -> list[str]:
    """Read the names of the columns from the first row; an empty cell has an empty name."""
    first = next(itertools.chain(rows, [()]))
    return ["" if cell is None else str(_whole(cell)).strip() for cell in first]


def _whole(value: Any) -> Any:
    """Convert a whole number to int: Excel has numbers of one type only."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
