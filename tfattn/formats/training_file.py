"""The format and columns of a training file, which an export keeps so that files like it can be predicted."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tfattn import files
from tfattn.formats.columns import Columns
from tfattn.formats.file_formats import FILE_FORMATS
from tfattn.formats.numbers import MISSING


@dataclass(frozen=True)
class FileFormat:
    """The format of a file of rows.

    Attributes:
        kind: "text" (a row is a line), or a name of FILE_FORMATS, such as "csv" (with any delimiter).
        encoding: of the file; a byte-order mark is skipped.
        delimiter, quoting, header: of a csv, as `CsvFile` takes them.
        options: settings of another format, as its class takes them.
    """

    kind: Literal[("text", *FILE_FORMATS)]
    encoding: str = "utf-8"
    delimiter: str = ","
    quoting: bool = True
    header: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingFile:
    """The file from which the inputs of a model were read.

    Attributes:
        columns: each input, and the column or key that it was read from; or the columns, of a list of texts.
        missing: the texts that stand for a missing number.
        suffix: of the file's name, in lower case, such as ".csv".
        format: the file's format; None where only its source knows it.

    Example:
        TrainingFile(columns={"text": "Description"}, suffix=".csv", format=FileFormat("csv", delimiter=";"))
    """

    columns: Mapping[str, Columns]
    missing: tuple[str, ...] = MISSING
    suffix: str = ""
    format: FileFormat | None = None

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        files.write_json(path, asdict(self))

    @staticmethod
    def read(path: Path, *, remedy: str) -> "TrainingFile":
        """Read what `write` wrote.

        Raises:
            DataError: the file is damaged; names the remedy.
        """
        return files.read_json(path, TrainingFile, remedy=remedy)
