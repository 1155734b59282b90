"""A growing table of words and vectors, from text rows or binary rows.

Text rows have a word and its numbers, separated by blanks. Binary rows have a word, a blank, and little-endian float32
numbers, with an optional line end.
"""

import io
import itertools
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from tfattn import console
from tfattn.errors import DataError
from tfattn.vectors.word_vectors import WordVectors

MAX_WIDTH = 1 << 16  # headers with wider vectors are refused
FIRST_ROWS = 1024


class Table:
    """Words and vectors, in memory proportional to the rows that were read, not to the header.

    Args:
        file: the name of the file.
        width: the dimension of the vectors.
    """

    def __init__(self, file: str, width: int):
        if not 1 <= width <= MAX_WIDTH:
            raise DataError(
                "no vectors have this width", where=file, expected=f"1 to {MAX_WIDTH:,} numbers", received=f"{width:,}"
            )
        self.file, self.width = file, width
        self.words: list[str] = []
        self._vectors = np.empty((FIRST_ROWS, width), "float32")

    def __len__(self) -> int:
        return len(self.words)

    def add(self, words: list[bytes], vectors: np.ndarray) -> None:
        """Add N words and their vectors (N, D).

        Invalid UTF-8 is escaped as in Python source, such as `caf\\xe9`, so that words stay distinct.

        Raises:
            DataError: a vector has a value that is not finite.
        """
        is_finite = np.isfinite(vectors).all(axis=1)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            wrong = vectors[row][~np.isfinite(vectors[row])][0]
            raise DataError(
                "a vector has a value that is not finite",
                where=f"{self.file}, row {len(self) + row + 1:,}",
                expected=f"{self.width} finite numbers of the word {_text(words[row])!r}",
                received=str(wrong),
            )
        stop = len(self) + len(words)
        if stop > len(self._vectors):
            # In place if the system can extend it, to avoid twice the memory.
            self._vectors.resize((max(stop, len(self._vectors) * 3 // 2), self.width), refcheck=False)
        self._vectors[len(self) : stop] = vectors
        self.words += map(_text, words)

    def word_vectors(self) -> WordVectors:
        """Return the word vectors; the first vector of a repeated word counts."""
        self._vectors.resize((len(self), self.width), refcheck=False)
        indices: dict[str, int] = {}
        for index, word in enumerate(self.words):
            indices.setdefault(word, index)
        if len(indices) == len(self):
            return WordVectors(self.words, self._vectors)
        repeated = len(self) - len(indices)
        console.note(f"{self.file}: {repeated:,} words are repeated: their first vectors count")
        return WordVectors([*indices], self._vectors[[*indices.values()]])


def _text(word: bytes) -> str:
    return word.decode("utf-8", "backslashreplace")


TEXT_BLOCK = 1 << 23  # bytes that are parsed together
MAX_LINE_BYTES = 32 * MAX_WIDTH


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
    while chunk := file.read(TEXT_BLOCK):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
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


def add_text_rows(table: Table, lines: Sequence[bytes], first: int) -> None:
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
        each = [_parse_row(line, table.width, f"{table.file}:{first + number:,}") for number, line in enumerate(lines)]
        words, numbers = [word for word, _ in each], np.array([row for _, row in each], "float32")
    table.add(words, numbers)


def row_width(line: bytes) -> int:
    """Count the numbers at the end of a line, after at least one word."""
    _, *parts = line.split() or [b""]
    return sum(1 for _ in itertools.takewhile(lambda part: _number(part) is not None, reversed(parts)))


def _parse_row(line: bytes, width: int, where: str) -> tuple[bytes, list[float]]:
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


BINARY_BLOCK = 1 << 24  # bytes that are read together
MAX_WORD_BYTES = 1 << 12


def add_binary_rows(table: Table, file: BinaryIO, rows: int, *, offset: int) -> None:
    """Read rows and add them.

    Args:
        table: the table to extend.
        file: the file, positioned after its header.
        rows: the number of rows.
        offset: the offset of the first byte after the header.

    Raises:
        DataError: the file ends too early, or continues after the rows; names the byte.
    """
    size = 4 * table.width
    buffer = b""  # starts at byte `offset`
    while len(table) < rows:
        chunk = file.read(BINARY_BLOCK)
        buffer += chunk
        words, vectors, start = [], [], 0
        while len(table) + len(words) < rows:
            word = start
            while buffer[word : word + 1] == b"\n":
                word += 1
            blank = buffer.find(b" ", word, word + MAX_WORD_BYTES)
            if blank == word or (blank < 0 and len(buffer) - word >= MAX_WORD_BYTES):
                raise _damage(table, rows, offset + word, len(words), received="no word")
            stop = blank + 1 + size
            if blank < 0 or stop > len(buffer):
                break
            words.append(buffer[word:blank])
            vectors.append(buffer[blank + 1 : stop])
            start = stop
        table.add(words, np.frombuffer(b"".join(vectors), "<f4").reshape(-1, table.width))
        if not chunk and len(table) < rows:
            raise _damage(table, rows, offset + len(buffer), received="the end of the file")
        buffer, offset = buffer[start:], offset + start
    rest = (buffer + file.read(BINARY_BLOCK)).lstrip(b"\n")
    if rest:
        raise DataError(
            "the file continues after its vectors",
            where=f"{table.file}, byte {offset:,}",
            expected=f"the end after {rows:,} words, as in the first line",
            received=f"{rest[:20]!r}",
        )


def _damage(table: Table, rows: int, byte: int, read: int = 0, *, received: str) -> DataError:
    return DataError(
        "the file is damaged, or was cut off",
        where=f"{table.file}, byte {byte:,}",
        expected=f"the word and the {table.width} numbers of row {len(table) + read + 1:,} of {rows:,}",
        received=received,
        remedy="Fetch it again.",
    )
