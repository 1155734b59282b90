"""Detection of how a text file holds a table: encoding, delimiter, quotes and header."""

import codecs
import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfattn.errors import DataError, listed
from tfattn.files import AnyPath, similar_path
from tfattn.formats.delimiters import DELIMITERS
from tfattn.formats.file_kinds import likely_encoding, likely_kind
from tfattn.formats.limits import MAX_TEXT_LENGTH
from tfattn.formats.numbers import NUMBER
from tfattn.recipes.stretches import stretches

HEAD_BYTES = 1 << 20
HEAD_LINES = 500
STRETCH_BYTES = 1 << 16
MAX_NAME_CHARACTERS = 60  # longer cells of a first row are data
MAX_HEADER_CATEGORIES = 50

_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_IDEOGRAPHS = re.compile(r"[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")

# Asks the user: what is ambiguous, the possible answers, the option that answers it -> one of the answers.
Ask = Callable[[str, Sequence[str], str], str]


@dataclass(frozen=True)
class TextTable:
    """How a text file holds a table.

    Attributes:
        options: keys of the source `csv`, without defaults.
        reasons: why each key has its value.
        names: the names of columns; numbers from 1 if there is no header.
    """

    options: dict[str, Any]
    reasons: dict[str, str]
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Split:
    """The rows of the head of a file, split by a delimiter."""

    delimiter: str
    quoting: bool
    rows: list[list[str]] = field(repr=False)


def detect_encoding(path: AnyPath) -> tuple[str, str]:
    """Detect the encoding of a text file.

    Returns:
        the encoding and the reason; the reason is "" for UTF-8, which is the default.

    Raises:
        DataError: the file cannot be read, is empty, or is binary.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise DataError(
            f"cannot read the file ({error.strerror})",
            where=str(path),
            remedy=similar_path(path) or "Check the path.",
        ) from None
    if not head.strip():
        raise DataError("the file is empty", where=str(path), remedy="Check the path.")
    if found := likely_kind(head):
        raise DataError("the file is not text", where=str(path), received=f"what seems to be {found[0]}")
    if likely := likely_encoding(head, "utf-8"):
        return likely, "detected by its first bytes"
    if b"\0" in head:
        raise DataError(
            "the file is not text", where=str(path), expected="rows of text", received="a binary file (NUL bytes)"
        )
    parts = [head, *(data for _, data in stretches(path, STRETCH_BYTES))]
    if all(_decodes(part, "utf-8") for part in parts):
        return "utf-8", ""
    if all(map(_is_chinese, parts)):
        return "gb18030", "not UTF-8; its bytes are Chinese characters in GB 18030"
    name = "cp1252" if all(_decodes(part, "cp1252") for part in parts) else "latin-1"
    return name, "not UTF-8; --set data.source.encoding=... if letters with accents look wrong"


def detect_table(path: AnyPath, *, delimiter: str | None, ask: Ask) -> TextTable:
    """Detect the encoding, the delimiter, the quotes and the header of a table.

    Args:
        path: the file.
        delimiter: the delimiter; None if it is not known.
        ask: asks which of several possible delimiters separates columns.

    Raises:
        DataError: the file cannot be read, is not text, or has a single column.
        ConfigError: several delimiters are possible, and `ask` cannot ask.
    """
    encoding, reason = detect_encoding(path)
    lines = _head_lines(path, encoding)
    split = _split(lines, str(path), delimiter, ask)
    header, why = detect_header(split.rows)
    default = "\t" if path.suffix.lower() == ".tsv" else ","
    options: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    if split.delimiter != default:
        options["delimiter"] = split.delimiter
        reasons["delimiter"] = f"every row has the same number of {_NAMES.get(split.delimiter, repr(split.delimiter))}"
    if encoding != "utf-8":
        options["encoding"], reasons["encoding"] = encoding, reason
    if not split.quoting:
        options["quoting"], reasons["quoting"] = False, "double quotes are plain text: not every quote is closed"
    if not header:
        options["header"], reasons["header"] = False, why
    first = split.rows[0]
    return TextTable(options, reasons, tuple(first if header else (str(number + 1) for number in range(len(first)))))


def detect_header(rows: Sequence[Sequence[str]]) -> tuple[bool, str]:
    """Detect whether the first row has the names of columns.

    Returns:
        whether it has, and the reason.

    Example:
        >>> detect_header([["0.00632", "18"], ["0.02731", "0"]])
        (False, "the first row has numbers: it is data")
    """
    first, others = [cell.strip() for cell in rows[0]], rows[1:]
    if any(_is_number(cell) for cell in first):
        return False, "the first row has numbers: it is data"
    if len({cell for cell in first if cell}) < len([cell for cell in first if cell]):
        return False, "the first row has the same value twice: it is data"
    if any(len(cell) > MAX_NAME_CHARACTERS for cell in first):
        return False, "the first row has long texts: it is data"
    for index, name in enumerate(first):
        column = [row[index].strip() for row in others if index < len(row)]
        values = set(column)
        if values and sum(map(_is_number, column)) > 0.9 * len(column):
            return True, f"column {index + 1} has numbers below {name!r}"
        if name in values and len(values) <= MAX_HEADER_CATEGORIES:
            return False, f"{name!r} in the first row is also a value of other rows: it is data"
    return True, "the first row has short texts that no other row has"


def _decodes(head: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)  # a character may be cut at the end
    except UnicodeDecodeError:
        return False
    return True


def _is_chinese(head: bytes) -> bool:
    if not _decodes(head, "gb18030"):
        return False
    text = codecs.getincrementaldecoder("gb18030")().decode(head)
    others = [character for character in text if not character.isascii()]
    # Single accented letters of Western texts also decode as rare characters; Chinese characters come in sequences.
    return len(_IDEOGRAPHS.findall(text)) > 0.9 * len(others) and 3 * len(re.findall(rb"[\x80-\xff]{4}", head)) > len(
        others
    )


def _head_lines(path: AnyPath, encoding: str) -> list[str]:
    with path.open("rb") as file:
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(file.read(HEAD_BYTES)).lstrip("\ufeff")
    lines = text.splitlines(keepends=True)
    whole = lines[:-1] if len(lines) > 1 and len(text) >= HEAD_BYTES // 4 else lines  # the last line may be cut
    return whole[:HEAD_LINES]


def _split(lines: list[str], where: str, delimiter: str | None, ask: Ask) -> _Split:
    found = [split for each in ([delimiter] if delimiter else DELIMITERS) for split in _splits(lines, each)]
    delimiters = [split.delimiter for split in found]
    if not found:
        raise DataError(
            "the file has a single column",
            where=where,
            expected=f"columns separated by {listed(_NAMES.values())}, the same number in every row",
            received=repr(lines[0].rstrip()[:60]),
            remedy="A column of texts without a target: see `tfattn list recipes`, such as generate_text or pretrain. "
            "Otherwise name the delimiter by --delimiter.",
        )
    if "\t" in delimiters:
        return found[delimiters.index("\t")]
    if len(found) > 1 and "," in delimiters and _has_decimal_commas(lines):
        found = [split for split in found if split.delimiter != ","]
    if len(found) == 1:
        return found[0]
    widths = ", ".join(f"{split.delimiter!r} gives {len(split.rows[0])} columns" for split in found)
    answer = ask(f"{where}: several delimiters are possible ({widths})", delimiters, "--delimiter")
    return found[delimiters.index(answer)]


def _has_decimal_commas(lines: list[str]) -> bool:
    """Return whether all commas are between digits: they are decimal, because another delimiter is possible."""
    return all(line.count(",") == len(_DECIMAL_COMMA.findall(line)) for line in lines[1:])


def _splits(lines: list[str], delimiter: str) -> list[_Split]:
    """Split the lines with quotes, or as plain text; empty if rows differ in their number of columns."""
    csv.field_size_limit(MAX_TEXT_LENGTH)
    for quoting in (True, False):
        style = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
        rows: list[list[str]] = []
        num_lines = 0  # of whole rows
        reader = csv.reader(lines, delimiter=delimiter, quoting=style, strict=True)
        try:
            for row in reader:
                rows.append(row)
                num_lines = reader.line_num
        except csv.Error as error:
            # The last row may continue after these lines.
            if not (str(error).startswith("unexpected end") and num_lines > HEAD_LINES // 2):
                continue
        rows = [row for row in rows if row]
        if rows and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            return [_Split(delimiter, quoting, rows)]
    return []


def _is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text.strip()) is not None
