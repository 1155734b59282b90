"""Articles of XML dumps of MediaWiki, such as Wikipedia."""

import re
from collections.abc import Iterator

from tfattn.data.examples.sentences import sentences_of
from tfattn.data.sources.each_file import EachFile
from tfattn.data.sources.wikitext import paragraphs_of
from tfattn.data.sources.xml_rows import xml_rows
from tfattn.errors import DataError
from tfattn.features import TEXT
from tfattn.files import AnyPath
from tfattn.formats.parts import Span
from tfattn.formats.source import Row
from tfattn.formats.text_files import check_encoding

TITLE = "title"
_PATHS = {
    TITLE: "title",
    "namespace": "ns",
    "redirect": "redirect/@title",
    "model": "revision/model",
    TEXT: "revision/text",
}
_REDIRECT = re.compile(r"\s*#\S+\s*:?\s*\[\[")


class MediaWikiDump(EachFile):
    """Pages of a dump (.xml, .xml.bz2 or .xml.gz) as plain text with a sentence per line; a row is a page, role `text`.

    Redirects, pages of other namespaces, templates, tables, references, headings, pictures and lines without a sentence
    are dropped. Only the last revision of a page is read. A dump is streamed.

    Args:
        path: the dump, a pattern such as dumps/*.xml.bz2, or a list of them.
        namespaces: the numbers of the namespaces to read; 0 is that of articles.
        encoding: the encoding of dumps that do not declare it.

    Raises:
        ConfigError: the encoding is unknown.

    Example:
        source = MediaWikiDump(path="enwiki-latest-pages-articles.xml.bz2")
        for row in source.rows():
            print(row.where, row.fields["title"], row.fields["text"].split("\\n")[0])
    """

    def __init__(self, *, path: str | list[str], namespaces: list[int] | None = None, encoding: str | None = None):
        if encoding is not None:
            check_encoding(encoding)
        super().__init__(path)
        self.namespaces = frozenset(map(str, [0] if namespaces is None else namespaces))
        self.encoding = encoding
        self.fields = {TEXT: _PATHS[TEXT], TITLE: _PATHS[TITLE]}

    def rows_of(self, path: AnyPath, span: Span | None) -> Iterator[Row]:
        page = None
        for page in xml_rows(path, "mediawiki/page", _PATHS, encoding=self.encoding):
            values = {name: found[-1] if found else "" for name, found in page.values.items()}
            is_wikitext = values["model"] in ("", "wikitext") and not _REDIRECT.match(values[TEXT])
            if is_wikitext and not values["redirect"] and (values["namespace"] or "0") in self.namespaces:
                sentences = [
                    sentence for paragraph in paragraphs_of(values[TEXT]) for sentence in sentences_of(paragraph)
                ]
                yield Row({TEXT: "\n".join(sentences), TITLE: values[TITLE]}, f"{path}:{page.line}")
        if page is None:
            raise DataError("the file holds no pages", where=str(path), expected="elements mediawiki/page")
