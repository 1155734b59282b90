"""Reading of word vectors, with detection of the format."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from tfattn import files
from tfattn.errors import DataError
from tfattn.formats.file_kinds import likely_kind
from tfattn.vectors.word_files.arrays import array_width, is_array_folder, read_arrays
from tfattn.vectors.word_files.table import (
    MAX_LINE_BYTES,
    Table,
    add_binary_rows,
    add_text_rows,
    read_lines,
    row_width,
)
from tfattn.vectors.word_vectors import WordVectors

HEADER = re.compile(rb"(?:\xef\xbb\xbf)?([0-9]{1,18}) ([0-9]{1,18})[ \r]*")
CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")  # not in text, but in nearly all binary rows
FASTTEXT = b"\xba\x16\x4f\x2f"  # the magic number of fastText models
FASTTEXT_AS_TEXT = (
    "Read the .vec that fastText writes next to the .bin; or convert the .bin: "
    "gensim.models.fasttext.load_facebook_vectors(BIN).save_word2vec_format(VEC)."
)
SAVE = "gensim writes vectors by `save_word2vec_format`, fastText as .vec."


def is_readable(path: Path) -> bool:
    """Return whether a path is a file, or a folder of arrays."""
    return path.is_file() or is_array_folder(path)


def read(path: str | Path) -> WordVectors:
    """Read a file of word vectors, which may be compressed (.gz, .bz2).

    word2vec text and fastText .vec have a line with the numbers of words and dimensions, then a line for each word.
    GloVe has no first line. word2vec binary has the first line, then binary rows, with or without line ends. Content
    decides the format; if it is ambiguous, the suffix .bin decides. A folder has an array of vectors and a table of
    words.

    Args:
        path: the file, or the folder.

    Raises:
        ConfigError: the words are in Parquet, and pyarrow is not installed.
        DataError: the file has another format, is damaged or truncated, or differs from its first line; names the line
            or byte.
    """
    if is_array_folder(Path(path)):
        return read_arrays(Path(path))
    with _reading(path) as unpacked:
        head = _head(unpacked)
        table = Table(str(path), _width(head, unpacked))
        if (header := _header(head)) is None:
            _read_text(table, unpacked, line=1)
        else:
            _read_counted(table, unpacked, header, head)
    return table.word_vectors()


def vector_width(path: str | Path) -> int:
    """Return the dimension of vectors from the first line of a file, or from an array; errors as `read`."""
    if is_array_folder(Path(path)):
        return array_width(Path(path))
    with _reading(path) as unpacked:
        return _width(_head(unpacked), unpacked)


@contextlib.contextmanager
def _reading(path: str | Path) -> Iterator[files.AnyPath]:
    try:
        yield files.unpacked(path)
    except OSError as error:
        raise DataError(
            f"cannot read the file ({error.strerror or error})", where=str(path), remedy=files.similar_path(path)
        ) from None


def _head(path: files.AnyPath) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_LINE_BYTES)


def _header(head: bytes) -> tuple[int, int] | None:
    """Return the numbers of words and dimensions in the first line; None if it is a word with its vector."""
    found = HEADER.fullmatch(head.partition(b"\n")[0])
    return found and (int(found[1]), int(found[2]))


def _read_counted(table: Table, path: files.AnyPath, header: tuple[int, int], head: bytes) -> None:
    """Read rows after a header with their number."""
    rows, width = header
    is_binary = _is_binary(head.partition(b"\n")[2], width, path)
    _check_size(path, rows, width, smallest=rows * (2 + (4 if is_binary else 2) * width))
    if is_binary:
        with path.open("rb") as file:
            add_binary_rows(table, file, rows, offset=len(file.readline()))
    else:
        _read_text(table, path, line=2)
    if len(table) != rows:
        raise DataError(
            "the number of rows differs from the first line",
            where=f"{path}:{len(table) + 1:,}",
            expected=f"{rows:,} words",
            received=f"{len(table):,}",
            remedy="Fetch it again." if len(table) < rows else "",
        )


def _read_text(table: Table, path: files.AnyPath, *, line: int) -> None:
    with path.open("rb") as file:
        if line > 1:
            file.readline()
        for lines in read_lines(file, str(path), line):
            add_text_rows(table, lines, line)
            line += len(lines)


def _width(head: bytes, path: files.AnyPath) -> int:
    """Return the dimension of vectors from the header or the first row."""
    if (header := _header(head)) is not None:
        return header[1]
    first, end, _ = head.partition(b"\n")
    if end and (width := row_width(first)):
        return width
    found = likely_kind(head)
    is_fasttext = head.startswith(FASTTEXT)
    guess = "a model of fastText" if is_fasttext else found[0] if found else ""
    raise DataError(
        "the file has no word vectors",
        where=str(path),
        expected="word2vec's text or binary, GloVe's text or fastText's .vec",
        received=f"what seems to be {guess}" if guess else f"{first[:40]!r}" if head else "an empty file",
        remedy=FASTTEXT_AS_TEXT if is_fasttext else SAVE,
    )


def _is_binary(rest: bytes, width: int, path: files.AnyPath) -> bool:
    """Return whether the rows after the header are binary."""
    first, end, _ = rest.partition(b"\n")
    if end and row_width(first) == width:
        return False
    return CONTROL.search(rest) is not None or path.suffix.lower() == ".bin"


def _check_size(path: files.AnyPath, rows: int, width: int, *, smallest: int) -> None:
    """Refuse a file that is too small for its header; the size of compressed files is unknown."""
    if isinstance(path, files.CompressedPath) or (size := path.stat().st_size) >= smallest:
        return
    raise DataError(
        "the file is too small for its first line",
        where=str(path),
        expected=f"at least {smallest:,} bytes for {rows:,} words of {width:,} numbers",
        received=f"{size:,} bytes",
        remedy="Fetch it again.",
    )
