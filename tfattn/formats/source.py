"""The contract of a source of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
        fields: the value of each role (`text`, or `text_a` and `text_b`; `label`): a text, which may be empty; a list
            or an object, if the format has them; for an image the bytes of its file, or None if it is left out.
        where: file and line, or the path of a row that is a file; for messages.
        columns: the columns that were read, by their own names, if the format has named columns of any type.
    """

    fields: dict[str, Any]
    where: str
    columns: Mapping[str, Any] = field(default_factory=dict)


class Source:
    """The contract: a source reads the rows of a file, with values by role.

    Attributes:
        path: the file.
        fields: role -> column or key, or columns.
        format: format of the file, for prediction from similar files by `tfattn predict`; None if not supported.
        rows_are_files: whether each row is a file, located by its path; otherwise rows are located by file and line.
        has_examples: whether rows are precomputed examples of another tool, as JSON in the role `example`.
    """

    path: AnyPath
    fields: dict[str, Columns]
    format: FileFormat | None = None
    rows_are_files: bool = False
    has_examples: bool = False

    @classmethod
    def of_inputs(cls, path: str, columns: Mapping[str, Columns], how: FileFormat) -> "Source":
        """Open a file for prediction, which needs only the inputs of a model.

        Args:
            path: the file.
            columns: input -> column that it was trained on.
            how: format of the file.

        Raises:
            DataError: the file cannot be read, or lacks a column.
        """
        return cls(path=path, fields=dict(columns), **how.options)

    def add_columns(self, names: Sequence[str]) -> None:
        """Add columns as roles of the same name, unless these exist."""
        self.fields |= {name: name for name in names if name not in self.fields}

    def parts(self) -> Iterator[Part]:
        """Divide the rows into parts that are read independently; a single part if the file cannot be divided.

        Raises:
            DataError: the file cannot be read.
        """
        yield Part()

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read all rows, or the rows of a part, in the order of the file.

        Raises:
            DataError: the file is missing, empty or changed, or a row cannot be read; names file and line.
        """
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Compute the SHA-256 of the file.

        Raises:
            DataError: the file cannot be read.
        """
        return fingerprint(self.path)
