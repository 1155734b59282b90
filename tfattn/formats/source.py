"""The contract of a source of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfattn.files import AnyPath
from tfattn.formats.columns import Columns
from tfattn.formats.parts import Part
from tfattn.formats.text_files import fingerprint
from tfattn.formats.training_file import FileFormat


@dataclass(frozen=True)
class Row:
    """One row of raw values.

    Attributes:
        fields: the value of each role (`text`, or `text_a` and `text_b`; `label`): a text, empty where the file has
            none, or where files can hold them a list or an object. Of an image the bytes of its file; None where it is
            left out.
        where: file and line, or of a row that is a file of its own its path; for messages.
    """

    fields: dict[str, Any]
    where: str


class Source:
    """The contract: a source reads the rows of a file, each value under its role.

    Attributes:
        path: the file.
        fields: role -> the column or key that holds it, or the columns.
        format: how rows stand in the file, so that `tfattn predict` can read others like it; None where it cannot.
        rows_are_files: whether each row is a file of its own, whose path is its place; else that is a file and a line.
        has_examples: whether rows are examples already, which another tool has made: as JSON, under the role `example`.
    """

    path: AnyPath
    fields: dict[str, Columns]
    format: FileFormat | None = None
    rows_are_files: bool = False
    has_examples: bool = False

    @classmethod
    def of_inputs(cls, path: str, columns: Mapping[str, Columns], how: FileFormat) -> "Source":
        """Open a file whose rows are to be predicted: it needs the inputs of a model, and nothing else.

        Args:
            path: the file.
            columns: each input, and the column that it was trained on.
            how: the file's format.

        Raises:
            DataError: the file cannot be read, or has no such columns.
        """
        return cls(path=path, fields=dict(columns), **how.options)

    def add_columns(self, names: Sequence[str]) -> None:
        """Read some columns by their own names too, those that no role has."""
        self.fields |= {name: name for name in names if name not in self.fields}

    def parts(self) -> Iterator[Part]:
        """Divide the rows into parts that can be read each for itself; one part where the file cannot be divided.

        Raises:
            DataError: the file cannot be read.
        """
        yield Part()

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read every row, or those of a part, in the order of the file.

        Raises:
            DataError: the file is missing or empty, has changed since it was divided, or a row cannot be read; names
                file and line.
        """
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Compute the SHA-256 of the file.

        Raises:
            DataError: it cannot be read.
        """
        return fingerprint(self.path)
