"""Text rows: a word and its numbers, separated by blanks."""

import io
import itertools
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from tfattn.errors import DataError
from tfattn.vectors.word_files.table import MAX_WIDTH, Table

BLOCK = 1 << 23  # bytes that are parsed together
LONGEST_LINE = 32 * MAX_WIDTH


def read_lines(file: BinaryIO, name: str, line: int) -> Iterator[list[bytes]]:
    """Yield blocks of the lines of a file, without line ends.

    Args:
        file: the file, opened in binary mode.
        name: the name of the file.
        line: the number of the first line.

    Raises:
        DataError: a line is too long, or the last has no end.
    """
    rest = b""
    while chunk := file.read(BLOCK):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise DataError(
                "the line is too long", where=f"{name}:{line + len(lines):,}", expected="a word and its numbers"
            )
        if lines:
            yield lines
            line += len(lines)
    if rest:
        raise DataError(
            "the last line has no end: the file was cut off",
            where=f"{name}:{line:,}",
            received=f"{rest[:40]!r}",
            remedy="Fetch it again; if nothing is missing, end it with a line end.",
        )


def add_rows(table: Table, lines: Sequence[bytes], first: int) -> None:
    """Parse rows and add them.

    Args:
        table: the table to extend.
        lines: the rows.
        first: the number of the first line.

    Raises:
        DataError: a row has no word, or a wrong number of values; names the line.
    """
    parts = [line.partition(b" ") for line in lines]
    words = [word for word, _, _ in parts]
    try:
        if not all(words) or not all(numbers for _, _, numbers in parts):
            raise ValueError
        numbers = np.loadtxt(
            io.BytesIO(b"\n".join(numbers for _, _, numbers in parts)), "float32", comments=None, ndmin=2
        )
        if numbers.shape != (len(lines), table.width):
            raise ValueError
    except ValueError:
        # Parse again, row by row: words may have blanks, or else the error names the line.
        each = [_row(line, table.width, f"{table.file}:{first + number:,}") for number, line in enumerate(lines)]
        words, numbers = [word for word, _ in each], np.array([row for _, row in each], "float32")
    table.add(words, numbers)


def row_width(line: bytes) -> int:
    """Count the numbers at the end of a line, after at least one word."""
    _, *parts = line.split() or [b""]
    return sum(1 for _ in itertools.takewhile(lambda part: _number(part) is not None, reversed(parts)))


def _row(line: bytes, width: int, where: str) -> tuple[bytes, list[float]]:
    parts = line.rsplit(None, width) or [b""]
    numbers = [_number(part) for part in parts[1:]]
    # A word may have blanks; if its last part is a number, the row has too many numbers.
    is_longer = len(parts) > width and b" " in parts[0] and _number(parts[0].rpartition(b" ")[2]) is not None
    wrong = [part for part, number in zip(parts[1:], numbers, strict=True) if number is None]
    has_word = line[:1] not in (b"", b" ")
    if not has_word or wrong or len(numbers) < width or is_longer:
        received = f"{wrong[0].decode('utf-8', 'backslashreplace')!r} among them" if wrong else ""
        raise DataError(
            "the row is not a word with its vector",
            where=where,
            expected=f"a word and {width} numbers with blanks between",
            received=(received or f"{len(line.split()) - 1} numbers") if has_word else "no word",
        )
    return parts[0], numbers


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
