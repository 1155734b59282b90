"""The lines of a file of predictions: JSON, a table, a workbook, Parquet, or the plain texts that a model wrote."""

import csv
import functools
import importlib.util
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.errors import ConfigError, DataError
from tfattn.features import TEXT

EMPTY, ERROR = "empty", "error"  # keys of a line that are there only where they say something
MAX_SHEET_ROWS = 1_048_576  # of Excel
OutputLine = dict[str, Any]
Format = Callable[[Iterable[OutputLine]], Iterator[str | bytes]]


class FailedRow(OutputLine):
    """The line of a row without a prediction: its inputs, and `error`.

    Attributes:
        kind: what is wrong, the same for all rows with the problem.
    """

    kind: str = ""


def format_of(output: str, *, arrays: bool = False) -> Format:
    """Choose the format of lines by the suffix of the file's name; JSON lines for `-`, standard output.

    Args:
        output: the file's name.
        arrays: whether a table has arrays of numbers, too.

    Raises:
        ConfigError: the suffix is unknown, or the package of the format is not installed.
    """
    chosen = json_lines if output == "-" else files.by_suffix(output, FORMATS)
    if (package := _PACKAGES.get(Path(output).suffix.lower())) and importlib.util.find_spec(package) is None:
        remedy = f"Run: pip install {package}"
        raise ConfigError(f"the package {package} is not installed", where=output, remedy=remedy)
    return functools.partial(chosen, arrays=True) if arrays and chosen not in (json_lines, texts) else chosen


def json_lines(lines: Iterable[OutputLine]) -> Iterator[str]:
    """Write an object for each line."""
    for line in lines:
        yield json.dumps(line, ensure_ascii=False) + "\n"


def table(lines: Iterable[OutputLine], *, delimiter: str, arrays: bool = False) -> Iterator[str]:
    """Write a header, and a row of cells for each line: a column for each entry of an object, lists as JSON.

    The columns are those of the first line with a prediction; those before it wait for it.

    Args:
        lines: what is written.
        delimiter: between cells.
        arrays: whether to write arrays of numbers, such as vectors, too. Numbers that go with a list of texts, such as
            the scores of entities, are no array.
    """
    for row in _rows(lines, arrays=arrays):
        yield _cells(["" if value is None else _text(value) for value in row], delimiter)


def workbook(lines: Iterable[OutputLine], *, arrays: bool = False) -> Iterator[bytes]:
    """Write an Excel workbook with the rows of `table`; numbers are numbers, and no text is a formula.

    Raises:
        DataError: there are more rows than a sheet can have.
    """
    import openpyxl
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def cell(value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("\ufffd", _text(value)))
        made.data_type = "s"
        return made

    for number, row in enumerate(_rows(lines, arrays=arrays), start=1):
        if number > MAX_SHEET_ROWS:
            sheet.close()
            expected = f"at most {MAX_SHEET_ROWS:,} rows"
            raise DataError("a sheet cannot have more rows", expected=expected, remedy="Write .csv or .parquet.")
        sheet.append([cell(value) for value in row])
    file = io.BytesIO()
    book.save(file)
    yield file.getvalue()


def parquet(lines: Iterable[OutputLine], *, arrays: bool = False) -> Iterator[bytes]:
    """Write a Parquet file with the columns of `table`; columns with values of several types become text."""
    import pyarrow
    import pyarrow.parquet

    header, *rows = _rows(lines, arrays=arrays) or [[]]
    columns = {}
    for name, values in zip(header, zip(*rows, strict=True), strict=True):
        try:
            columns[name] = pyarrow.array(values)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
            columns[name] = pyarrow.array([None if value is None else _text(value) for value in values])
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    yield file.getvalue()


def _rows(lines: Iterable[OutputLine], *, arrays: bool) -> Iterator[list[Any]]:
    """Yield the names of the columns, and the values of each line, None where it has none; see `table`."""
    lines = iter(lines)
    first, left_out = [], set()
    for line in lines:
        first.append(_flat(line))
        if not isinstance(line, FailedRow):
            left_out = set() if arrays else _arrays(line)
            break
    names = [name for name in dict.fromkeys([*first[-1], EMPTY, ERROR]) if name not in left_out] if first else []
    if first:
        yield names
    for line in itertools.chain(first, map(_flat, lines)):
        yield [line.get(name) for name in names]


def texts(lines: Iterable[OutputLine]) -> Iterator[str]:
    """Write the texts that the model has written, one per line; an empty line where there is none."""
    for line in lines:
        yield ("" if isinstance(line, FailedRow) else " ".join(line[TEXT].splitlines())) + "\n"


FORMATS: dict[str, Format] = {
    ".jsonl": json_lines,
    ".csv": functools.partial(table, delimiter=","),
    ".tsv": functools.partial(table, delimiter="\t"),
    ".xlsx": workbook,
    ".parquet": parquet,
    ".txt": texts,
}
_PACKAGES = {".xlsx": "openpyxl", ".parquet": "pyarrow"}


def _arrays(line: OutputLine) -> set[str]:
    """Find the entries of a line that are arrays."""
    lists = {name: value[0] for name, value in line.items() if isinstance(value, list) and value}
    has_texts = any(isinstance(first, str) for first in lists.values())
    return {
        name for name, first in lists.items() if isinstance(first, list) or not (has_texts or isinstance(first, str))
    }


def _flat(line: OutputLine) -> dict[str, Any]:
    flat = {}
    for name, value in line.items():
        flat |= (
            {f"{name}.{key}": entry for key, entry in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    return flat


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cells(cells: list[str], delimiter: str) -> str:
    row = io.StringIO()
    csv.writer(row, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return row.getvalue()
