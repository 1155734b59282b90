"""Parts of files of similar size, which end with a line or row and are read independently.

Parts depend on the file only, so any number of processes reads the same parts. A part has the SHA-256 of its bytes, so
changes of a file while it is read are detected.
"""

import codecs
import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from tfattn.errors import DataError
from tfattn.files import AnyPath, CompressedPath

PART_BYTES = 8 << 20
MAX_REST = 64 << 20  # bytes of a line, enough for the longest row
# Encodings in which the byte of a line feed or a quote may be part of another character.
_INDIVISIBLE = (
    "utf-16",
    "utf-32",
    "utf-7",
    "hz",
    "iso2022",
    "punycode",
    "idna",
    "unicode-escape",
    "raw-unicode-escape",
)


@dataclass(frozen=True)
class Span:
    """A range of whole lines of a file.

    Attributes:
        begin, end: offsets in bytes, end excluded.
        line: number of the first line, from 1.
        sha256: SHA-256 of the bytes.
    """

    begin: int
    end: int
    line: int
    sha256: str

    @staticmethod
    def of(data: bytes, begin: int, line: int) -> "Span":
        """Create the span of bytes at an offset of a file."""
        return Span(begin, begin + len(data), line, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Part:
    """A part of a source.

    Attributes:
        spans: a span for each of the files that are read in parallel; None for a whole file.
        path: the file, if a source reads several files separately; otherwise empty.
        source: name of the source in a concatenation of sources; otherwise empty.
    """

    spans: tuple[Span | None, ...] = (None,)
    path: str = ""
    source: str = ""


def is_divisible(path: AnyPath, encoding: str) -> bool:
    """Return whether a file can be divided after the byte of a line feed; compressed files cannot."""
    if isinstance(path, CompressedPath):
        return False
    name = codecs.lookup(encoding).name.replace("_", "-")
    return not name.startswith(_INDIVISIBLE) and "\n".encode(encoding).endswith(b"\n")


def spans(
    path: AnyPath,
    *,
    whole: bool = False,
    finish: Callable[[bytes, BinaryIO], bytes | None] | None = None,
) -> Iterator[Span]:
    """Divide a file into consecutive spans.

    Args:
        path: the file.
        whole: whether the whole file is one span.
        finish: function of the first bytes of a span, and the file after them, that returns the rest of the last row;
            None if its end cannot be determined, and the rest of the file is one span. By default the rest of the line.

    Raises:
        OSError: the file cannot be read.
    """
    finish = finish or (lambda _, file: rest_of_line(file))
    begin, line = 0, 1
    with path.open("rb") as file:
        while not whole and (chunk := file.read(PART_BYTES)):
            rest = finish(chunk, file)
            if rest is None:
                break
            span = Span.of(chunk + rest, begin, line)
            yield span
            begin, line = span.end, line + _count_lines(chunk + rest)
        file.seek(begin)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if file.tell() > begin:
            yield Span(begin, file.tell(), line, digest)


def rest_of_line(file: BinaryIO) -> bytes | None:
    """Read the rest of a line; None if it is longer than MAX_REST."""
    rest = file.readline(MAX_REST)
    return None if len(rest) == MAX_REST and not rest.endswith(b"\n") else rest


def rest_before(file: BinaryIO, is_next: Callable[[bytes], bool]) -> bytes | None:
    """Read up to the next line that `is_next`; None if there is no such line within MAX_REST bytes."""
    rest = rest_of_line(file)
    if rest is None:
        return None
    read, size = [rest], len(rest)
    while size < MAX_REST and (line := file.readline(MAX_REST)):
        if is_next(line):
            file.seek(-len(line), io.SEEK_CUR)
            return b"".join(read)
        read.append(line)
        size += len(line)
    return None if size >= MAX_REST else b"".join(read)


def open_span(path: AnyPath, span: Span | None) -> BinaryIO:
    """Open a file, or a span of it, for a single sequential read.

    Raises, while it is read:
        DataError: the bytes have changed since the span was created.
    """
    file = path.open("rb")
    return io.BufferedReader(_SpanBytes(file, path, span), 1 << 20) if span else file


class _SpanBytes(io.RawIOBase):
    """The bytes of a span, verified against its SHA-256 at the end."""

    def __init__(self, file: BinaryIO, path: AnyPath, span: Span):
        self._file, self._path, self._span = file, path, span
        self._left = span.end - span.begin
        self._read = hashlib.sha256()
        file.seek(span.begin)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        data = self._file.read(min(self._left, len(buffer)))
        buffer[: len(data)] = data
        self._left -= len(data)
        self._read.update(data)
        if (self._left == 0 or not data) and self._read.hexdigest() != self._span.sha256:
            raise DataError(
                "the file changes while it is read",
                where=str(self._path),
                remedy="Run the same command again when nothing writes to it any more.",
            )
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _count_lines(data: bytes) -> int:
    """Count line feeds, carriage returns, and pairs of both as one; no span starts within a pair."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
