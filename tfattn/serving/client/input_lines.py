"""The lines of an input file: decoded, counted and checked."""

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tfattn import files
from tfattn.errors import DataError
from tfattn.formats.file_kinds import check_kind, likely_encoding
from tfattn.formats.limits import MAX_ROW_LENGTH, too_long
from tfattn.formats.training_file import FileFormat

# What `errors="surrogateescape"` makes of a byte that is not of the encoding, and what no text has.
_NO_TEXT = re.compile("[\udc80-\udcff\0]")


class InputLines:
    """The lines of a file with their ends.

    A line that cannot be decoded does not end the reading, unless it is the first: then the file is no text.

    Args:
        file: the bytes.
        place: what the file is called in messages.
        how: its encoding, and its kind: only a csv's lines may also end in a carriage return alone.

    Attributes:
        place: as given.
        number: how many lines have been read.
    """

    def __init__(self, file: BinaryIO, place: str, how: FileFormat):
        self.place, self.number = place, 0
        self._how = how
        self._file = io.TextIOWrapper(file, how.encoding, "surrogateescape", "" if how.kind == "csv" else "\n")
        self._problem: DataError | None = None

    def __iter__(self) -> Iterator[str]:
        """Yield line after line.

        Raises:
            DataError: the first line is no text, or a line has no end.
        """
        while line := self._next():
            self.number += 1
            if self.number == 1:
                line = line.removeprefix("\ufeff")
            if found := _NO_TEXT.search(line):
                self._problem = self._undecodable(found)
                if self.number == 1:
                    raise self._problem
            yield line

    def where(self, ahead: int = 0) -> str:
        """Return the place of the line that was read last, or of one after it."""
        return f"{self.place}:{self.number + ahead}"

    def take_problem(self) -> DataError | None:
        """Return the problem of the lines since the last call, if there is one."""
        problem, self._problem = self._problem, None
        return problem

    def close(self) -> None:
        """Release the file without closing it."""
        self._file.detach()

    def _next(self) -> str:
        try:
            line = self._file.readline(MAX_ROW_LENGTH + 1)
        except UnicodeError as error:  # such as half a character of UTF-16
            raise DataError(
                "the file cannot be decoded",
                where=self.where(1),
                expected=f"{self._how.encoding} text",
                received=str(error),
            ) from None
        if len(line) > MAX_ROW_LENGTH:
            raise too_long("the line", self.where(1), MAX_ROW_LENGTH)
        return line

    def _undecodable(self, found: re.Match) -> DataError:
        character = found.group()
        likely = likely_encoding(found.string.encode(self._how.encoding, "surrogateescape"), self._how.encoding)
        stated = f"-f {likely} " if likely else ""
        return DataError(
            f"the line is not {self._how.encoding.upper()} text",
            where=self.where(),
            received=f"the byte 0x{ord(character) & 0xFF:02x} at position {found.start() + 1}",
            remedy=f"Save it as text in UTF-8; `iconv {stated}-t utf-8` converts text of another encoding.",
        )


@contextlib.contextmanager
def opened(path: str, how: FileFormat) -> Iterator[InputLines]:
    """Open the lines of a file, or of standard input where the path is `-`.

    Raises:
        DataError: the file cannot be read, or is of a kind that is no text.
    """
    with contextlib.ExitStack() as stack:
        try:
            if Path(path).is_file():  # and no pipe, of which nothing can be read twice
                check_kind(files.unpacked(path))
            file = sys.stdin.buffer if path == "-" else stack.enter_context(files.unpacked(path).open("rb"))
        except DataError as error:
            error.remedy = error.remedy.replace("`path`", "`--input`")
            raise
        except OSError as error:
            raise DataError(
                f"cannot read the inputs ({error.strerror})", where=path, remedy=files.similar_path(path)
            ) from None
        lines = InputLines(file, "standard input" if path == "-" else path, how)
        stack.callback(lines.close)
        yield lines
