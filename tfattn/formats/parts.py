"""Parts of files that can be read each for itself: about equally large, and ending where a line, or a row, ends.

Where parts end follows from the file alone, so any number of processes reads the same parts. A part knows the SHA-256
of its bytes: a file that changes while it is read is found out.
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
MAX_REST = 64 << 20  # bytes of one line: as many as the longest row may have
# Encodings in which the byte of a line feed, or of a quote, may be part of another character.
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
    """A part of a file, whole lines.

    Attributes:
        begin, end: its bytes.
        line: the number of its first line, from 1.
        sha256: of its bytes.
    """

    begin: int
    end: int
    line: int
    sha256: str

    @staticmethod
    def of(data: bytes, begin: int, line: int) -> "Span":
        """Describe bytes that stand at a place in a file."""
        return Span(begin, begin + len(data), line, hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Part:
    """A part of a source.

    Attributes:
        spans: of each of the files that are read side by side, None for the whole of one.
        path: the file, where a source has several of which each is read for itself; else empty.
        source: which of several sources, where they are read as one.
    """

    spans: tuple[Span | None, ...] = (None,)
    path: str = ""
    source: str = ""


def is_divisible(path: AnyPath, encoding: str) -> bool:
    """Tell whether a file can be divided behind the byte of a line feed; a compressed one is read from its begin."""
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
        whole: whether to take it as one span.
        finish: given the first bytes of a span, and the file behind them, the rest of the last row; None where that
            cannot be told, and all that is left is one span. By default the rest of the line.

    Raises:
        OSError: it cannot be read.
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
    """Read the rest of a line; None where it is longer than any line may be."""
    rest = file.readline(MAX_REST)
    return None if len(rest) == MAX_REST and not rest.endswith(b"\n") else rest


def rest_before(file: BinaryIO, is_next: Callable[[bytes], bool]) -> bytes | None:
    """Read the rest of a line, and the lines before the next that `is_next`; None where there is none for very long."""
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
    """Open a file, or one span of it, to be read once from its begin to its end.

    Raises, as it is read:
        DataError: the bytes are no longer those that the span was made of.
    """
    file = path.open("rb")
    return io.BufferedReader(_SpanBytes(file, path, span), 1 << 20) if span else file


class _SpanBytes(io.RawIOBase):
    """The bytes of a span, held against its SHA-256 when they have all been read."""

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
    """Count line feeds, carriage returns, and pairs of them as one; no span begins within a pair."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
