"""Samples of tables: rows of a file, by column, and the number of all rows."""

import importlib
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tfattn import files
from tfattn.errors import ConfigError, DataError
from tfattn.files import AnyPath, CompressedPath
from tfattn.formats.file_formats import FILE_FORMATS
from tfattn.formats.json_objects import object_of
from tfattn.formats.parts import Part, Span
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import lines
from tfattn.recipes.stretches import is_large, stretches
from tfattn.recipes.text_tables import Ask, detect_encoding, detect_table

MAX_ROWS = 20_000  # rows that are kept; more do not change what is detected
MAX_BYTES = 128 << 20  # memory of these rows
VALUE_BYTES = 64  # memory of a value, in addition to its characters
STRETCH_BYTES = 1 << 20
MAX_STARTS = 50  # lines that are tried as the start of a row
ALIGNED_ROWS = 20  # rows that are only read from the start of a row on
DIVISIBLE = ("csv", "jsonl")  # kinds that can be read from any line on

Value = str | list[Any] | dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """Rows of a table: the first, and of a large file also rows from other parts of it.

    Attributes:
        path: the file.
        source: the keys of its source, such as name, path and delimiter.
        reasons: why keys of the source have their values.
        columns: column -> values of the rows.
        num_rows: the number of rows of the file.
        is_estimate: whether this number is an estimate, because the file is large.
        has_header: whether columns have names; otherwise they are numbers from 1.
    """

    path: str
    source: dict[str, Any]
    reasons: dict[str, str]
    columns: dict[str, list[Value]] = field(repr=False)
    num_rows: int
    is_estimate: bool = False
    has_header: bool = True

    @property
    def num_sampled(self) -> int:
        """The number of rows of the sample."""
        return len(next(iter(self.columns.values()), []))


def read_sample(path: str, *, delimiter: str | None, ask: Ask) -> Sample:
    """Read rows of a csv, tsv, jsonl, parquet or xlsx file; of a large file neither all rows nor only the first.

    Raises:
        DataError: the file cannot be read.
        ConfigError: something about it is ambiguous, and `ask` cannot ask.
    """
    file = files.unpacked(path)
    suffix = file.suffix.lower()
    suffix = ".jsonl" if suffix == ".json" else suffix
    kind = next((name for name, format in FILE_FORMATS.items() if suffix in format.suffixes), "csv")
    reasons: dict[str, str] = {}
    options: dict[str, Any] = {}
    if kind == "csv":
        table = detect_table(file, delimiter=delimiter, ask=ask)
        names, options, reasons = table.names, table.options, table.reasons
    elif kind == "jsonl":
        encoding, reason = detect_encoding(file)
        options, reasons = ({}, {}) if encoding == "utf-8" else ({"encoding": encoding}, {"encoding": reason})
        names = _json_names(file, encoding)
    else:
        names = _column_names(kind, str(file))
    usable = [name for name in names if name.strip() and names.count(name) == 1]
    if len(usable) < len(names):
        reasons["fields"] = (
            f"{len(names) - len(usable)} columns without a name, or with the name of another, are not read"
        )
    try:
        rows, count, is_estimate = _read(kind, str(path), options, usable)
    except DataError:
        if kind != "csv" or options.get("quoting") is False:
            raise
        rows, count, is_estimate = _read(kind, str(path), options | {"quoting": False}, usable)
        options["quoting"], reasons["quoting"] = False, "double quotes are plain text: not every quote is closed"
    columns = {name: [row.fields[name] for row in rows] for name in usable}
    source = {"name": kind, "path": path, **options}
    return Sample(str(path), source, reasons, columns, count, is_estimate, options.get("header", True))


def _read(kind: str, path: str, options: dict[str, Any], names: list[str]) -> tuple[list[Row], int, bool]:
    """Read rows, and count or estimate all rows; return also whether their number is an estimate."""
    source = _source(kind, path=path, fields={name: name for name in names}, **options)
    iterator = iter(source.rows())
    others = stretches(source.path, STRETCH_BYTES) if kind in DIVISIBLE else []
    rows = _first(iterator, share=2 if others else 1)
    if not others and not is_large(source.path):
        return rows, len(rows) + sum(1 for _ in iterator), False
    if kind == "parquet":
        return rows, _num_parquet_rows(path), False
    num_bytes = sum(len(str(value).encode()) + 1 for row in rows for value in row.fields.values())
    size = source.path.stat().st_size
    if isinstance(source.path, CompressedPath):
        head = "\n".join(",".join(map(str, row.fields.values())) for row in rows[:1000]).encode()
        size = size * len(head) // len(zlib.compress(head))
    stretched = [(_aligned(source, span, data), len(data)) for span, data in others]
    stretched = [(found, length) for found, length in stretched if found]
    if stretched:
        per_row = sum(length for _, length in stretched) / sum(len(found) for found, _ in stretched)
    else:
        per_row = num_bytes / len(rows)
    kept = [*rows, *(row for found, _ in stretched for row in _first(found, share=2 * len(others)))]
    return kept, max(len(kept), round(size / per_row)), True


def _first(rows: Iterable[Row], *, share: int) -> list[Row]:
    """Return the first rows, up to a fraction of the rows and of the memory of a sample."""
    kept, num_bytes = [], 0
    for row in rows:
        kept.append(row)
        num_bytes += sum(VALUE_BYTES + len(str(value)) for value in row.fields.values())
        if len(kept) >= MAX_ROWS // share or num_bytes >= MAX_BYTES // share:
            break
    return kept


def _aligned(source: Source, span: Span, data: bytes) -> list[Row]:
    """Return the rows of a span; empty if the start of a row is not found, as the span may start in a quoted text."""
    start = 0
    for _ in range(MAX_STARTS):
        found: list[Row] = []
        try:
            for row in source.rows(Part((Span.of(data[start:], span.begin + start, span.line),))):
                found.append(row)
        except DataError:  # at the start, if no row starts there; or at the end, in a quoted text
            if len(found) < ALIGNED_ROWS:
                start = data.find(b"\n", start) + 1
                continue
        return found
    return []


def _num_parquet_rows(path: str) -> int:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path).metadata.num_rows


def _source(kind: str, **options: Any) -> Source:
    module, _, name = FILE_FORMATS[kind].source.partition(":")
    return getattr(importlib.import_module(module), name)(**options)


def _json_names(path: AnyPath, encoding: str) -> tuple[str, ...]:
    """Return the keys that all of the first objects have."""
    head = [line for line in islice(lines(path, encoding), 1000) if line.strip()]
    objects = [object_of(line, f"{path}:{number}") for number, line in enumerate(head, start=1)]
    common = [name for name in objects[0] if all(name in entry for entry in objects)] if objects else []
    if not common:
        raise DataError("the objects have no common key", where=str(path), expected='{"text": ..., "label": ...}')
    return tuple(common)


def _column_names(kind: str, path: str) -> tuple[str, ...]:
    """Return the columns of a Parquet file or a workbook."""
    if kind == "parquet":
        try:
            import pyarrow.parquet
        except ImportError:
            raise ConfigError(
                "the package pyarrow is not installed", remedy="Run: pip install 'tfattn[parquet]'"
            ) from None
        return tuple(pyarrow.parquet.ParquetFile(path).schema_arrow.names)
    import pandas

    return tuple(map(str, pandas.read_excel(path, nrows=0).columns))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "row"), counted(2000, "row")
        ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)


def shown(value: Value) -> str:
    """Return a value as text: lists and objects as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
