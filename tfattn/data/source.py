"""The contract of a source of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfattn.data.parts import Part
from tfattn.data.text_files import fingerprint
from tfattn.formats.training_file import FileFormat


@dataclass(frozen=True)
class Row:
    """One row of raw values.

    Attributes:
        fields: the value of each role (`text`, or `text_a` and `text_b`; `label`): a text, empty where the file has
            none, or where files can hold them a list or an object.
        where: file and line, for messages.
    """

    fields: dict[str, Any]
    where: str


class Source:
    """Gives the rows of a file, each value under the role that it plays.

    Attributes:
        path: the file.
        fields: role -> the column or key that holds it.
        format: how rows stand in the file, so that `tfattn predict` can read others like it; None where it cannot.
    """

    path: Path
    fields: dict[str, str]
    format: FileFormat | None = None

    def parts(self) -> Iterator[Part]:
        """Divides the rows into parts that can be read each for itself: one at least, one alone if it cannot tell.

        Raises:
            DataError: the file cannot be read.
        """
        yield Part()

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Reads every row, or those of a part, in the order of the file.

        Raises:
            DataError: the file is missing or empty, has changed since it was divided, or a row cannot be read; names
                file and line.
        """
        raise NotImplementedError

    def fingerprint(self) -> str:
        """The SHA-256 of the file.

        Raises:
            DataError: it cannot be read.
        """
        return fingerprint(self.path)
