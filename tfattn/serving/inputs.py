"""The rows of an input file, as they come: text lines, csv or tsv with named columns, or JSON lines."""

import contextlib
import csv
import difflib
import json
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from tfattn.errors import DataError

Kind = Literal["text", "csv", "tsv", "jsonl"]

KINDS: dict[str, Kind] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@dataclass(frozen=True)
class Row:
    """The inputs of one answer.

    Attributes:
        fields: input name to text.
        where: file:line, the line on which it ends.
    """

    fields: dict[str, str]
    where: str


def read(
    path: str, columns: Mapping[str, str], *, numeric: Collection[str] = (), kind: Kind | None = None
) -> Iterator[Row]:
    """Reads UTF-8 rows without holding more than one of them.

    A text line is a row, an empty one too, so that line n is answered on line n. In csv, tsv and jsonl an input is
    read from the column or key of its own name, or else from the one it was trained on; blank lines are no rows.

    Args:
        path: the file; `-` is standard input.
        columns: each input that a row needs, and the column it was trained on.
        numeric: the inputs that are numbers, which jsonl may hold as such, or as null where one is missing.
        kind: how to read it; by the suffix where not given (.csv, .tsv, .jsonl, else text).

    Raises:
        DataError: a file or column is missing, or a row is not as it should be; names file and line.
    """
    kind = kind or KINDS.get(Path(path).suffix.lower(), "text")
    place = "standard input" if path == "-" else path
    with _open(path) as file:
        lines = _Lines(file, place)
        if kind == "text":
            yield from _text(lines, columns)
        elif kind == "jsonl":
            yield from _json_lines(lines, columns, numeric)
        else:
            yield from _table(lines, columns, delimiter="," if kind == "csv" else "\t")


class _Lines:
    """The decoded lines of a file, and where in it we are."""

    def __init__(self, file: BinaryIO, place: str):
        self.file, self.place, self.number = file, place, 0

    @property
    def where(self) -> str:
        return f"{self.place}:{self.number}"

    def __iter__(self) -> Iterator[str]:
        for line in self.file:
            self.number += 1
            try:
                yield line.decode("utf-8-sig" if self.number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    "the line is not UTF-8",
                    where=self.where,
                    received=f"the byte 0x{line[error.start]:02x} at position {error.start + 1}",
                    remedy="Convert the file, for example with `iconv -t utf-8`.",
                ) from None


def _text(lines: _Lines, columns: Mapping[str, str]) -> Iterator[Row]:
    if len(columns) > 1:
        raise DataError(
            "the model reads more than one input, a text line is only one",
            where=lines.place,
            expected=f"csv, tsv or jsonl with {', '.join(columns)}",
            received="text lines",
        )
    (name,) = columns
    for line in lines:
        yield Row({name: line.rstrip("\r\n")}, lines.where)


def _table(lines: _Lines, columns: Mapping[str, str], delimiter: str) -> Iterator[Row]:
    # The csv module takes lines with their ends, which may stand inside quotes.
    reader = csv.reader(iter(lines), delimiter=delimiter, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise DataError("the file is empty", where=lines.place, expected="a line of column names and rows")
        positions = {name: header.index(_column(name, wanted, header, lines)) for name, wanted in columns.items()}
        for cells in reader:
            if cells and len(cells) != len(header):
                raise DataError(
                    "the row does not fit the header",
                    where=lines.where,
                    expected=f"{len(header)} cells",
                    received=str(len(cells)),
                    remedy="Quote cells that contain the delimiter or quotes.",
                )
            if cells:
                yield Row({name: cells[position] for name, position in positions.items()}, lines.where)
    except csv.Error as error:
        raise DataError(f"cannot read the row ({error})", where=lines.where) from None


def _json_lines(lines: _Lines, columns: Mapping[str, str], numeric: Collection[str]) -> Iterator[Row]:
    for line in lines:
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"not a line of JSON ({error})", where=lines.where) from None
        if not isinstance(value, dict):
            raise DataError("not a JSON object", where=lines.where, expected=f"an object with {', '.join(columns)}")
        keys = {name: _column(name, wanted, value, lines) for name, wanted in columns.items()}
        texts = {name: _json_text(value, key, lines, is_number=name in numeric) for name, key in keys.items()}
        yield Row(texts, lines.where)


def _json_text(value: dict, key: str, lines: _Lines, *, is_number: bool) -> str:
    text = value[key]
    if is_number and (text is None or type(text) in (int, float)):
        return "" if text is None else repr(text)
    if not isinstance(text, str):
        received = repr(text)[:80]
        raise DataError(f"the value of `{key}` is no text", where=lines.where, expected="a string", received=received)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        received = f"a lone surrogate at position {error.start + 1}"
        raise DataError(f"the value of `{key}` is not Unicode text", where=lines.where, received=received) from None
    return text


def _column(name: str, trained_on: str, present: list[str] | dict, lines: _Lines) -> str:
    for column in (name, trained_on):
        if column in present:
            return column
    near = difflib.get_close_matches(name, present, n=1) or difflib.get_close_matches(trained_on, present, n=1)
    raise DataError(
        f"there is no column for the input `{name}`",
        where=lines.where,
        expected=" or ".join(dict.fromkeys((name, trained_on))),
        received=", ".join(map(str, present)) or "nothing",
        remedy=f"Rename `{near[0]}`?" if near else "Rename the column that holds it.",
    )


@contextlib.contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        yield sys.stdin.buffer
        return
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except OSError as error:
            raise DataError(f"cannot read the inputs ({error.strerror})", where=path) from None
        yield file
