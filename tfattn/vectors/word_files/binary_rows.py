"""Binary rows: a word, a blank, and little-endian float32 numbers, with an optional line end."""

from typing import BinaryIO

import numpy as np

from tfattn.errors import DataError
from tfattn.vectors.word_files.table import Table

BLOCK = 1 << 24  # bytes that are read together
MAX_WORD_BYTES = 1 << 12


def add_rows(table: Table, file: BinaryIO, rows: int, *, offset: int) -> None:
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
        chunk = file.read(BLOCK)
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
    rest = (buffer + file.read(BLOCK)).lstrip(b"\n")
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
