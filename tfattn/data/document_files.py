"""Documents in text files, as BERT's own tools read them: one sentence a line, and a blank line between documents."""

from collections.abc import Iterator
from typing import BinaryIO

from pydantic import PositiveInt

from tfattn.data.each_file import EachFile
from tfattn.data.sentences import sentences_of
from tfattn.features import TEXT
from tfattn.files import AnyPath
from tfattn.formats.limits import LONGEST_TEXT, too_long
from tfattn.formats.parts import Span, rest_before
from tfattn.formats.source import Row
from tfattn.formats.text_files import check_encoding, lines, parts
from tfattn.formats.training_file import FileFormat


class DocumentFiles(EachFile):
    """Documents of one sentence a line, with a blank line between them; a row is a document, its role `text`.

    A document may have 1,048,576 characters. Files compressed by gzip or bzip2 are read as what they hold.

    Args:
        path: the file, a pattern such as data/*.txt, or a list of them.
        split_sentences: whether a line is running text, whose sentences are found by punctuation; else it is one.
        max_sentences: of a longer document each so many sentences are one of their own; for files that do not say
            where documents end.
        encoding: the encoding of the files; a byte-order mark is left out.

    Raises:
        ConfigError: the encoding is unknown.

    Example:
        source = DocumentFiles(path="data/books/*.txt")
        for row in source.rows():
            print(row.where, row.fields["text"].split("\\n"))
    """

    def __init__(
        self,
        *,
        path: str | list[str],
        split_sentences: bool = False,
        max_sentences: PositiveInt | None = None,
        encoding: str = "utf-8",
    ):
        check_encoding(encoding)
        super().__init__(path)
        self.split_sentences = split_sentences
        self.max_sentences = max_sentences
        self.encoding = encoding
        self.format = FileFormat("text", encoding)
        self.fields = {TEXT: self.patterns[0]}

    def spans_of(self, path: AnyPath) -> Iterator[Span | None]:
        """Divide a file behind blank lines, or, where documents are divided anyway, behind any line."""
        return parts(path, self.encoding, finish=None if self.max_sentences else _rest_of_document)

    def rows_of(self, path: AnyPath, span: Span | None) -> Iterator[Row]:
        sentences: list[str] = []
        first, characters = 0, 0
        for number, line in enumerate(lines(path, self.encoding, span=span), start=span.line if span else 1):
            text = line.strip()
            if text:
                first = first if sentences else number
                sentences += sentences_of(text) if self.split_sentences else [text]
                characters += len(text)
                if characters > LONGEST_TEXT:
                    slip = "If the file does not say where documents end, set `max_sentences`."
                    raise too_long("the document", f"{path}:{first}", LONGEST_TEXT, slip=slip)
            if sentences and (not text or self._is_full(sentences)):
                yield _row(sentences, path, first)
                sentences, characters = [], 0
        if sentences:
            yield _row(sentences, path, first)

    def _is_full(self, sentences: list[str]) -> bool:
        return self.max_sentences is not None and len(sentences) >= self.max_sentences


def _row(sentences: list[str], path: AnyPath, line: int) -> Row:
    return Row({TEXT: "\n".join(sentences)}, f"{path}:{line}")


def _rest_of_document(chunk: bytes, file: BinaryIO) -> bytes | None:
    """Read the lines up to the next blank one; None where there is none for very long."""
    return rest_before(file, lambda line: not line.strip())
