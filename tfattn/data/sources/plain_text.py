"""Unmodified plain text: whole files, lines, or articles under headings."""

import re
from collections.abc import Iterator
from typing import Annotated, BinaryIO, Literal

from tfattn.config.relations import OnlyWith
from tfattn.config.types import Fraction
from tfattn.data.sources.each_file import EachFile
from tfattn.errors import ConfigError
from tfattn.features import TEXT
from tfattn.files import AnyPath
from tfattn.formats.limits import MAX_DOCUMENT_LENGTH, too_long
from tfattn.formats.parts import Span, rest_before
from tfattn.formats.source import Row
from tfattn.formats.text_files import check_encoding, lines, parts
from tfattn.formats.training_file import FileFormat

# Heading of an article of WikiText; headings of sections have more signs: " = = Gameplay = = ".
_HEADING = re.compile(r"\s*= [^=](.*[^=])? =\s*", re.ASCII)

PartOfFile = Annotated[Fraction | None, OnlyWith("documents", values=("files",))]


class PlainText(EachFile):
    """Unmodified texts, white space included; a row is a document, with the role `text`.

    Files compressed by gzip or bzip2 are decompressed. Blank documents are skipped.

    Args:
        path: the file, a pattern such as data/*.txt, or a list of them.
        documents: the unit of a document: `files`, `lines` without line ends, or `headings`, the text under each
            heading of an article, which WikiText writes as " = Title = ".
        begin: fraction of the characters of each file to skip at the start; 0 by default.
        end: fraction of the characters of each file at which reading ends; 1 by default.
        encoding: the encoding of the files; a byte-order mark is skipped.

    Raises:
        ConfigError: the encoding is unknown, or `begin` is not below `end`.

    Example:
        source = PlainText(path="data/shakespeare.txt", end=0.9)
        (row,) = source.rows()
        row.fields["text"]  # the first nine tenths
    """

    def __init__(
        self,
        *,
        path: str | list[str],
        documents: Literal["files", "lines", "headings"] = "files",
        begin: PartOfFile = None,
        end: PartOfFile = None,
        encoding: str = "utf-8",
    ):
        check_encoding(encoding)
        first, last = begin or 0.0, 1.0 if end is None else end
        if first >= last:
            raise ConfigError(
                "nothing is left to be read", key="end", expected=f"more than {first}", received=str(last)
            )
        super().__init__(path)
        self.documents = documents
        self.begin, self.end = first, last
        self.encoding = encoding
        self.format = FileFormat("text", encoding)
        self.fields = {TEXT: self.patterns[0]}

    def spans_of(self, path: AnyPath) -> Iterator[Span | None]:
        if self.documents == "files":
            return super().spans_of(path)
        return parts(path, self.encoding, finish=_rest_of_article if self.documents == "headings" else None)

    def rows_of(self, path: AnyPath, span: Span | None) -> Iterator[Row]:
        for where, text in self._documents(path, span):
            if text.strip():
                yield Row({TEXT: text}, where)

    def _documents(self, path: AnyPath, span: Span | None) -> Iterator[tuple[str, str]]:
        """Yield the location and the text of each document."""
        held: list[str] = []
        first, characters = 1, 0
        location = str(path)  # once, not for each of many lines
        for number, line in enumerate(lines(path, self.encoding, span=span), start=span.line if span else 1):
            if self.documents == "lines":
                yield f"{location}:{number}", line.rstrip("\r\n")
                continue
            if not held or self.documents == "headings" and _HEADING.fullmatch(line):
                yield f"{location}:{first}", "".join(held)
                held, first, characters = [], number, 0
            held.append(line)
            characters += len(line)
            if characters > MAX_DOCUMENT_LENGTH:
                raise too_long(
                    "the document", f"{location}:{first}", MAX_DOCUMENT_LENGTH, cause="Set `documents: lines`."
                )
        text = "".join(held)
        yield f"{location}:{first}", text[int(len(text) * self.begin) : int(len(text) * self.end)]


def _rest_of_article(chunk: bytes, file: BinaryIO) -> bytes | None:
    """Read the lines up to the next heading; None if there is no heading within the size limit."""
    return rest_before(file, lambda line: bool(_HEADING.fullmatch(line.decode("latin-1"))))
