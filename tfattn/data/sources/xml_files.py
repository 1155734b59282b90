"""Rows of XML files, by the paths of their elements."""

from collections.abc import Iterator

from tfattn.data.sources.each_file import EachFile
from tfattn.data.sources.xml_rows import xml_rows
from tfattn.errors import ConfigError, DataError
from tfattn.files import AnyPath
from tfattn.formats.parts import Span
from tfattn.formats.source import Row
from tfattn.formats.text_files import check_encoding


class XmlFiles(EachFile):
    """Elements of XML, which is read as a stream, so files may be of any size.

    Of several elements at the path of a field each is a line of its value; of none it is empty. A file that declares
    entities is refused. Files compressed by gzip or bzip2 are read as what they hold.

    Args:
        path: the file, a pattern such as data/*.xml, or a list of them.
        row: the elements from the root to a row, such as `catalog/book`.
        fields: what each element within a row is for, role: path, such as `text: chapter/title`; `book/@id` is an
            attribute, and `.` the row itself. The text of an element is that of all within it.
        encoding: the encoding of the files, where they do not say it themselves.

    Raises:
        ConfigError: the encoding is unknown, or a path is empty.

    Example:
        source = XmlFiles(path="books.xml", row="catalog/book", fields={"text": "summary", "label": "@genre"})
        for row in source.rows():
            print(row.where, row.fields["text"], row.fields["label"])
    """

    def __init__(self, *, path: str | list[str], row: str, fields: dict[str, str], encoding: str | None = None):
        if encoding is not None:
            check_encoding(encoding)
        for key, inner in {"row": row, **{f"fields.{role}": inner for role, inner in fields.items()}}.items():
            if not all(inner.split("/")):
                raise ConfigError(
                    "not a path of elements", key=key, expected="names, with / between them", received=repr(inner)
                )
        super().__init__(path)
        self.row = row
        self.fields = fields
        self.encoding = encoding

    def rows_of(self, path: AnyPath, span: Span | None) -> Iterator[Row]:
        found = None
        for found in xml_rows(path, self.row, self.fields, encoding=self.encoding):
            yield Row({role: "\n".join(values) for role, values in found.values.items()}, f"{path}:{found.line}")
        if found is None:
            raise DataError("the file holds no rows", where=str(path), expected=f"elements {self.row}")
