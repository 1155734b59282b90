"""Rows of bytes: a word, a blank, and its numbers as float32 in little-endian order; some write a line end behind."""

from typing import BinaryIO

import numpy as np

from tfattn.errors import DataError
from tfattn.vectors.word_files.table import Table

BLOCK = 1 << 24  # bytes that are read together
LONGEST_WORD = 1 << 12  # bytes


def add_rows(table: Table, file: BinaryIO, rows: int, *, begin: int) -> None:
    """Read rows and add them.

    Args:
        table: what they are added to.
        file: behind its header.
        rows: how many there are.
        begin: the number of the byte behind the header.

    Raises:
        DataError: the file ends too soon, or goes on behind them; names the byte.
    """
    size = 4 * table.width
    buffer = b""  # begins at byte `begin`
    while len(table) < rows:
        chunk = file.read(BLOCK)
        buffer += chunk
        words, vectors, start = [], [], 0
        while len(table) + len(words) < rows:
            word = start
            while buffer[word : word + 1] == b"\n":
                word += 1
            blank = buffer.find(b" ", word, word + LONGEST_WORD)
            if blank == word or (blank < 0 and len(buffer) - word >= LONGEST_WORD):
                raise _damage(table, rows, begin + word, len(words), received="no word")
            stop = blank + 1 + size
            if blank < 0 or stop > len(buffer):
                break
            words.append(buffer[word:blank])
            vectors.append(buffer[blank + 1 : stop])
            start = stop
        table.add(words, np.frombuffer(b"".join(vectors), "<f4").reshape(-1, table.width))
        if not chunk and len(table) < rows:
            raise _damage(table, rows, begin + len(buffer), received="the end of the file")
        buffer, begin = buffer[start:], begin + start
    rest = (buffer + file.read(BLOCK)).lstrip(b"\n")
    if rest:
        raise DataError(
            "the file goes on behind its vectors",
            where=f"{table.file}, byte {begin:,}",
            expected=f"the end behind {rows:,} words, as the first line tells",
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
