"""Tagged sentences in CoNLL format: a word per line with columns, a blank line between sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from tfattn import files
from tfattn.errors import ConfigError, DataError
from tfattn.features import TAGS, TEXT
from tfattn.formats.columns import Columns
from tfattn.formats.limits import MAX_TEXT_LENGTH, too_long
from tfattn.formats.parts import MAX_REST, Part
from tfattn.formats.source import Row, Source
from tfattn.formats.tag_schemes import Scheme, TagError, character_tags, to_iob2
from tfattn.formats.text_files import check_encoding, lines, parts
from tfattn.formats.training_file import FileFormat

DOCUMENT = "-DOCSTART-"  # the only word of a line between two documents
NO_BREAK_SPACE = "\u00a0"
_BLANKS = re.compile("[ \t]+")  # not the spaces of other scripts, which words may have


class ConllFile(Source):
    """The columns of the CoNLL shared tasks, such as those of CoNLL-2003. A row is a sentence.

    The role `text` is the words joined by spaces, and `tags` the list of tags, converted to IOB2; without spaces there
    is a tag per character. A space within a word, possible with another delimiter, becomes a no-break space. Lines that
    start with -DOCSTART- are skipped.

    Args:
        path: the file, or its remote address: gs://bucket/eng.train; names with .gz or .bz2 are decompressed.
        fields: role: column, counted from 1, or from the end with a minus sign. Roles are `text`, the column of words,
            and `tags`; other roles become lists of values.
        scheme: tagging scheme of the file: "iob1", "iob2" or "bioes".
        delimiter: separator of columns; by default spaces or tabs.
        spaces: whether words are separated by spaces; false for languages without spaces, such as Chinese, with a word
            or a character per line.
        encoding: the encoding of the file; a byte-order mark is skipped.

    Raises:
        ConfigError: the delimiter is not one character, the encoding is unknown, or a column is 0.

    Example:
        source = ConllFile(path="eng.train", fields={"text": 1, "tags": 4}, scheme="iob1")
        for row in source.rows():
            print(row.where, row.fields["text"], row.fields["tags"])
    """

    def __init__(
        self,
        *,
        path: str,
        fields: dict[str, int],
        scheme: Scheme = "iob2",
        delimiter: str | None = None,
        spaces: bool = True,
        encoding: str = "utf-8",
    ):
        check_encoding(encoding)
        self.path = files.unpacked(path)
        self.fields = {role: str(column) for role, column in fields.items()}
        self._columns = fields
        self.scheme: Scheme = scheme
        self.delimiter = delimiter
        self.spaces = spaces
        self.encoding = encoding
        self.format = FileFormat("conll", encoding, options={"delimiter": delimiter, "spaces": spaces})
        if delimiter is not None and (len(delimiter) != 1 or delimiter in "\r\n"):
            raise ConfigError(
                "the delimiter cannot be used", key="delimiter", expected="one character", received=repr(delimiter)
            )
        for role, column in fields.items():
            if column == 0:
                raise ConfigError(
                    "columns are counted from 1", key=f"fields.{role}", expected="a number other than 0", received="0"
                )

    @classmethod
    def of_inputs(cls, path: str, columns: Mapping[str, Columns], how: FileFormat) -> "ConllFile":
        """Open a file of words, in the first column unless the model was trained on a numbered column."""
        column = str(columns.get(TEXT))
        number = int(column) if re.fullmatch(r"-?[1-9]\d*", column, re.ASCII) else 1
        return cls(path=path, fields={TEXT: number}, encoding=how.encoding, **how.options)

    def parts(self) -> Iterator[Part]:
        return (Part((span,)) for span in parts(self.path, self.encoding, finish=_rest_of_sentence))

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read every sentence, in the order of the file.

        Raises:
            DataError: the file cannot be read, a line has another number of columns, or a tag is invalid; names file
                and line.
        """
        [span] = (part or Part()).spans
        count = 0
        for number, records in self._sentences(span):
            count += 1
            yield self._row(number, records)
        if count == 0 and span is None:
            raise DataError("the file holds no sentences", where=str(self.path))

    def _sentences(self, span: Any) -> Iterator[tuple[int, list[list[str]]]]:
        """Yield the first line number of each sentence, and the columns of its words."""
        records: list[list[str]] = []
        width = number = 0
        for number, line in enumerate(lines(self.path, self.encoding, span=span), start=span.line if span else 1):
            line = line.rstrip("\r\n")
            record = line.split(self.delimiter) if self.delimiter else _BLANKS.split(line.strip(" \t"))
            if not line.strip() or record[0] == DOCUMENT:
                if records:
                    yield number - len(records), records
                records = []
                continue
            width = width or self._checked_width(record, number)
            if len(record) != width:
                raise DataError(
                    "the line has another number of columns",
                    where=f"{self.path}:{number}",
                    expected=f"{width}, as the lines before",
                    received=f"{len(record)}: {line[:60]!r}",
                    remedy="Correct the line; an empty line ends a sentence.",
                )
            records.append(record)
        if records:
            yield number + 1 - len(records), records

    def _checked_width(self, record: Sequence[str], number: int) -> int:
        for role, column in self._columns.items():
            if abs(column) > len(record):
                raise DataError(
                    f"there is no column {column} for `{role}`",
                    where=f"{self.path}:{number}",
                    expected=f"at most {len(record)}",
                    received=str(column),
                    remedy="Check `fields`, and `delimiter`.",
                )
        return len(record)

    def _row(self, number: int, records: Sequence[Sequence[str]]) -> Row:
        indices = {role: column - 1 if column > 0 else column for role, column in self._columns.items()}
        fields: dict[str, Any] = {role: [record[index] for record in records] for role, index in indices.items()}
        words = [NO_BREAK_SPACE.join(word.split()) or NO_BREAK_SPACE for word in fields.get(TEXT, ())]
        if TEXT in fields:
            fields[TEXT] = (" " if self.spaces else "").join(words)
            if len(fields[TEXT]) > MAX_TEXT_LENGTH:
                raise too_long("the sentence", f"{self.path}:{number}", MAX_TEXT_LENGTH)
        if TAGS in fields:
            try:
                fields[TAGS] = to_iob2(fields[TAGS], self.scheme)
            except TagError as error:
                raise DataError(
                    f"a tag that is not {self.scheme}",
                    where=f"{self.path}:{number + error.index}",
                    expected=error.expected,
                    received=repr(fields[TAGS][error.index]),
                    remedy=error.remedy,
                ) from None
            if words and not self.spaces:
                fields[TAGS] = [tag for each in zip(words, fields[TAGS], strict=True) for tag in character_tags(*each)]
        return Row(fields, f"{self.path}:{number}")


def _rest_of_sentence(chunk: bytes, file: BinaryIO) -> bytes | None:
    """Read up to the end of a sentence, a blank line; None if the rest is longer than a row may be."""
    rest = b""
    while line := file.readline(MAX_REST):
        rest += line
        if len(rest) >= MAX_REST:
            return None
        if not line.strip() and line.endswith(b"\n") and (rest != line or chunk.endswith(b"\n")):
            break
    return rest
