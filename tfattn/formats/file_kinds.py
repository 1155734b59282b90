"""Recognition of files that are not text, or not in the stated encoding."""

import codecs
import re
from dataclasses import dataclass

from tfattn.errors import DataError
from tfattn.files import AnyPath

HEAD = 4096  # bytes that identify a kind
CHUNK = 1 << 16  # bytes per decoding step
NUL = "a NUL character"

_SAVE = "Save it as text, such as CSV in UTF-8, and name that file as `path`."
_UNPACK = "Unpack it, and name the file inside as `path`."
_READ = "Read it as `{}`, by `name:` of a source, or by `--format`."
_RENAME = "Let its name end in {}, or unpack it and name the file inside as `path`."
# Magic bytes, kinds and remedies; the first match wins. Workbooks are ZIP archives with certain names.
_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (rb"PK\x03\x04.*(xl/|docProps/|_rels/|\[Content_Types\])", "a workbook of Excel (.xlsx)", _READ.format("excel")),
    (rb"PK\x03\x04.*opendocument", "a workbook of LibreOffice", _SAVE),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a workbook of an older Excel (.xls)", _SAVE),
    (rb"PK\x03\x04", "a ZIP archive", _UNPACK),
    (rb"\x1f\x8b", "a file compressed by gzip", _RENAME.format(".gz")),
    (rb"BZh[1-9]1AY&SY", "a file compressed by bzip2", _RENAME.format(".bz2")),
    (rb"\xfd7zXZ\0", "a file compressed by xz", _UNPACK),
    (rb"\x28\xb5\x2f\xfd", "a file compressed by Zstandard", _UNPACK),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (rb".{257}ustar", "a tar archive", _UNPACK),
    (rb"PAR1", "a Parquet file", _READ.format("parquet")),
    (rb"ARROW1", "an Arrow file", _SAVE),
    (rb"Obj\x01", "an Avro file", _SAVE),
    (rb"SQLite format 3\0", "an SQLite database", _SAVE),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", _SAVE),
    (rb"\x93NUMPY", "an array of NumPy", _SAVE),
    (rb"\x80[\x02-\x05]", "a pickle of Python", _SAVE),
    (rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a", "an image", "Check `path`."),
    (rb"%PDF-", "a PDF document", _SAVE),
    (rb"version https://git-lfs", "a pointer of Git LFS to a missing file", "Fetch it: `git lfs pull`."),
)
# UTF-32 before UTF-16, whose marks are prefixes of those of UTF-32.
_BYTE_ORDER_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8",
}


@dataclass(frozen=True)
class BadLine:
    """The line of a file that is not text, and the invalid content."""

    line: int
    received: str


def check_kind(path: AnyPath) -> None:
    """Check that the magic bytes of a file are not those of a binary format.

    Raises:
        DataError: the file seems to be binary; names the kind and a remedy.
        OSError: the file cannot be read.
    """
    if found := likely_kind(_head(path)):
        kind, remedy = found
        raise DataError(
            "the file is not text",
            where=str(path),
            expected="rows of text",
            received=f"what seems to be {kind}",
            remedy=remedy,
        )


def likely_kind(head: bytes) -> tuple[str, str] | None:
    """Return the kind of a binary file by its magic bytes, and a remedy; None if the file may be text."""
    return next(((kind, remedy) for start, kind, remedy in _KINDS if re.match(start, head, re.DOTALL)), None)


def not_text(path: AnyPath, encoding: str, bad_line: BadLine) -> DataError:
    """Create the error of a line that cannot be decoded, with the likely encoding as remedy."""
    likely = likely_encoding(_head(path), encoding)
    if likely:
        remedy = f"The file seems to be {likely}: set `encoding: {likely}`."
    elif bad_line.received == NUL:
        remedy = "Remove it, or check that the file is text."
    else:
        remedy = "Set `encoding:` to that of the file, such as cp1252, latin-1, utf-16 or gb18030."
    return DataError(
        "the row cannot be decoded",
        where=f"{path}:{bad_line.line}",
        expected=f"{encoding} text",
        received=bad_line.received,
        remedy=remedy,
    )


def first_undecodable(path: AnyPath, encoding: str) -> BadLine:
    """Find the first line that cannot be decoded, which Python does not report because of read-ahead."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with path.open("rb") as file:
        while True:
            chunk = file.read(CHUNK)
            state = decoder.getstate()
            try:
                line += decoder.decode(chunk, final=not chunk).count("\n")
            except UnicodeDecodeError as error:
                decoder.setstate(state)
                good = decoder.decode(error.object[len(state[0]) : error.start])
                return BadLine(line + good.count("\n"), f"byte 0x{error.object[error.start]:02x}")
            except UnicodeError as error:  # such as UTF-16 without its byte-order mark
                return BadLine(line, str(error))
            if not chunk:
                return BadLine(line, "something else")


def _head(path: AnyPath) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def likely_encoding(head: bytes, stated: str) -> str:
    """Detect the encoding of a text by its first bytes; empty if unknown or the stated encoding."""
    stated = codecs.lookup(stated).name
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return name if name != stated else ""
    # In UTF-16 one byte of each ASCII letter is NUL, and the other is not.
    first, second = head[0::2].count(0), head[1::2].count(0)
    if max(first, second) > len(head) / 4 and min(first, second) == 0:
        return "utf-16-le" if second else "utf-16-be"
    if stated.startswith("utf-8") or b"\0" in head or (head.isascii() and not stated.startswith(("utf-16", "utf-32"))):
        return ""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut at the end
    except UnicodeDecodeError:
        return ""
    return "utf-8"
