"""The contract of a source of rows, and how every text file is opened."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tfattn import files
from tfattn.data.training_file import FileFormat
from tfattn.errors import ConfigError, DataError

# What a file begins with when it was saved in an encoding that nobody stated.
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8"}


@dataclass(frozen=True)
class Row:
    """One row of raw values.

    Attributes:
        fields: the value of each role (`text`, or `text_a` and `text_b`; `label`); empty where the file has none.
        where: file and line, for messages.
    """

    fields: dict[str, str]
    where: str


class Source:
    """Gives the rows of a file, each value under the role that it plays.

    Attributes:
        path: the file.
        fields: role -> the column or key that holds it.
        format: how rows stand in the file, so that `tfattn predict` can read others like it; None where it cannot.
    """

    path: Path
    fields: dict[str, str]
    format: FileFormat | None = None

    def rows(self) -> Iterator[Row]:
        """Every row, in the order of the file.

        Raises:
            DataError: the file is missing or empty, or a row cannot be read; names file and line.
        """
        raise NotImplementedError

    def fingerprint(self) -> str:
        """The SHA-256 of the file.

        Raises:
            DataError: it cannot be read.
        """
        return fingerprint(self.path)


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return files.sha256(path)
    except OSError as error:
        raise _unreadable(path, error) from None


def check_encoding(encoding: str) -> None:
    """Refuses what Python does not know as an encoding of text.

    Raises:
        ConfigError: there is no such encoding.
    """
    try:
        "".encode(encoding)
    except LookupError:
        raise ConfigError(
            "unknown encoding",
            key="encoding",
            expected="a name such as utf-8, utf-16, latin-1, cp1252, gb18030",
            received=repr(encoding),
        ) from None


def lines(path: Path, encoding: str, *, end: Literal["", "\n"] = "") -> Iterator[str]:
    """The lines of a text file with their ends; a byte-order mark is left out.

    Args:
        path: the file.
        encoding: its encoding.
        end: what ends a line: "\\n" alone, or if empty "\\n", "\\r" or both.

    Raises:
        DataError: the file is missing, empty, or not text in this encoding; names the line.
    """
    try:
        with open(path, encoding=encoding, newline=end) as file:
            number = 0
            for number, line in enumerate(file, start=1):
                if "\0" in line:
                    raise _not_text(path, encoding, number, "a NUL character")
                yield line.removeprefix("\ufeff") if number == 1 else line
            if number == 0:
                raise DataError("the file is empty", where=str(path), remedy="Check `path`.")
    except UnicodeError:
        raise _undecodable(path, encoding) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> DataError:
    remedy = "Check `path`." if path.is_absolute() else f"Check `path`; it counts from {Path.cwd()}."
    return DataError(f"cannot read the file ({error.strerror})", where=str(path), remedy=remedy)


def _undecodable(path: Path, encoding: str) -> DataError:
    """Python reads ahead and does not say in which line it failed: the whole is decoded once more."""
    data = path.read_bytes()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        good = data[: error.start].decode(encoding, errors="ignore")
        return _not_text(path, encoding, good.count("\n") + 1, f"byte 0x{data[error.start]:02x}")
    except UnicodeError as error:  # such as UTF-16 without its byte-order mark
        return _not_text(path, encoding, 1, str(error))
    return _not_text(path, encoding, 1, "something else")


def _not_text(path: Path, encoding: str, line: int, received: str) -> DataError:
    with open(path, "rb") as file:
        start = file.read(3)
    likely = next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), None)
    return DataError(
        "the row cannot be decoded",
        where=f"{path}:{line}",
        expected=f"{encoding} text",
        received=received,
        remedy=f"The file begins as {likely} does: set `encoding: {likely}`."
        if likely and likely != encoding
        else "Set `encoding:` to that of the file, such as cp1252, latin-1, utf-16 or gb18030.",
    )
