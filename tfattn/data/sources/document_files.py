"""Documents in the text format of the BERT code: a sentence per line, a blank line between documents."""

from collections.abc import Iterator
from typing import BinaryIO

from pydantic import PositiveInt

from tfattn.data.examples.sentences import sentences_of
from tfattn.data.sources.each_file import EachFile
from tfattn.features import TEXT
from tfattn.files import AnyPath
from tfattn.formats.limits import MAX_TEXT_LENGTH, too_long
from tfattn.formats.parts import Span, rest_before
from tfattn.formats.source import Row
from tfattn.formats.text_files import check_encoding, lines, parts
from tfattn.formats.training_file import FileFormat


class DocumentFiles(EachFile):
    """Documents with a sentence per line and a blank line in between; a row is a document, with the role `text`.

    A document has at most 1,048,576 characters. Files compressed by gzip or bzip2 are decompressed.

    Args:
        path: the file, a pattern such as data/*.txt, or a list of them.
        split_sentences: whether lines are running text, which is split into sentences by punctuation.
        max_sentences: maximum number of sentences per document, for files without boundaries of documents; longer
            documents are divided.
        encoding: the encoding of the files; a byte-order mark is skipped.

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
        """Divide a file after blank lines, or with `max_sentences` after any line."""
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
                if characters > MAX_TEXT_LENGTH:
                    cause = "If the file does not say where documents end, set `max_sentences`."
                    raise too_long("the document", f"{path}:{first}", MAX_TEXT_LENGTH, cause=cause)
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
    """Read the lines up to the next blank line; None if there is no blank line within the size limit."""
    return rest_before(file, lambda line: not line.strip())
