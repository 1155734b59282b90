"""Reading of text files line by line, with checks of length, encoding and kind."""

import io
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from tfattn import files
from tfattn.errors import ConfigError, DataError
from tfattn.files import AnyPath, CompressedPath
from tfattn.formats.file_kinds import NUL, BadLine, check_kind, first_undecodable, not_text
from tfattn.formats.limits import MAX_ROW_LENGTH, too_long
from tfattn.formats.parts import Span, is_divisible, open_span, spans

_MARK = "\ufeff"
_REVERSED_MARK = "\ufffe"
_OTHERS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


def check_encoding(encoding: str) -> None:
    """Check that Python supports a text encoding.

    Raises:
        ConfigError: the encoding is unknown.
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


def fingerprint(path: AnyPath) -> str:
    """Compute the SHA-256 of a file, without decompression.

    Raises:
        DataError: the path is not a regular file, or cannot be read.
    """
    try:
        check_is_file(path)
        return files.sha256(path.file if isinstance(path, CompressedPath) else path)
    except OSError as error:
        raise _unreadable(path, error) from None


def parts(
    path: AnyPath, encoding: str, *, finish: Callable[[bytes, BinaryIO], bytes | None] | None = None
) -> Iterator[Span | None]:
    """Divide a text file into spans for `lines`, see `spans`; None, the whole file, if it is empty or compressed.

    Raises:
        DataError: the file is missing, or not a regular file.
    """
    check_is_file(path)
    if isinstance(path, CompressedPath):
        yield None
        return
    try:
        found = spans(path, whole=not is_divisible(path, encoding), finish=finish)
        yield next(found, None)
        yield from found
    except OSError as error:
        raise _unreadable(path, error) from None


def lines(
    path: AnyPath,
    encoding: str,
    *,
    span: Span | None = None,
    end: Literal["", "\n"] = "",
    longest: int = MAX_ROW_LENGTH,
) -> Iterator[str]:
    """Read the lines of a text file with their ends; byte-order marks are skipped.

    Args:
        path: the file.
        encoding: the encoding of the file.
        span: the span to read; by default the whole file.
        end: line end: only "\\n", or if empty "\\n", "\\r" or both.
        longest: maximum number of characters of a line, which limits memory.

    Raises:
        DataError: the file is missing, empty, not a regular file, not text or not in this encoding, changes while it is
            read, or a line is too long; names the line.
    """
    try:
        check_is_file(path)
        check_kind(path)
        with io.TextIOWrapper(open_span(path, span), encoding=encoding, newline=end) as file:
            number = 0
            first = span.line if span else 1
            for number, line in enumerate(iter(lambda: file.readline(longest + 2), ""), start=first):
                if "\0" in line:
                    raise not_text(path, encoding, BadLine(number, NUL))
                if number == 1:
                    if line.startswith(_REVERSED_MARK):
                        raise not_text(path, encoding, BadLine(number, "a byte-order mark with its bytes reversed"))
                    line = line.lstrip(_MARK)  # several programs may have added a mark each
                if len(line) > longest and len(line.rstrip("\r\n")) > longest:
                    raise too_long("the line", f"{path}:{number}", longest)
                yield line
            if number == 0:
                raise DataError("the file is empty", where=str(path), remedy="Check `path`.")
    except UnicodeError:
        raise not_text(path, encoding, first_undecodable(path, encoding)) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def check_is_file(path: AnyPath) -> None:
    """Check that a path is a regular file, which can be read several times.

    Raises:
        DataError: the path is missing or not a regular file.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(mode):
        raise DataError(
            "not a regular file",
            where=str(path),
            expected="a regular file, which can be read several times",
            received=next((name for is_so, name in _OTHERS.items() if is_so(mode)), "something else"),
            remedy="Name a file as `path`; write the output of a program to a file first.",
        )


def _unreadable(path: AnyPath, error: OSError) -> DataError:
    check = "Check `path`." if path.is_absolute() else f"Check `path`, which is relative to {Path.cwd()}."
    return DataError(
        f"cannot read the file ({error.strerror})",
        where=str(path),
        remedy=f"{check} {files.similar_path(path)}".rstrip(),
    )
