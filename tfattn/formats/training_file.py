"""Format and columns of a training file, stored in exports for prediction from similar files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tfattn import files
from tfattn.features import ID
from tfattn.formats.columns import Columns
from tfattn.formats.file_formats import FILE_FORMATS
from tfattn.formats.numbers import MISSING


@dataclass(frozen=True)
class FileFormat:
    """The format of a file of rows.

    Attributes:
        kind: "text" (a row is a line), or a name of FILE_FORMATS, such as "csv" (with any delimiter).
        encoding: encoding of the file; a byte-order mark is skipped.
        delimiter, quoting, header: options of a csv, see `CsvFile`.
        options: options of another format, see its class.
    """

    kind: Literal[("text", *FILE_FORMATS)]
    encoding: str = "utf-8"
    delimiter: str = ","
    quoting: bool = True
    header: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrainingFile:
    """The file of the inputs that a model was trained on.

    Attributes:
        columns: input -> column or key, or columns for a list of texts.
        missing: markers of a missing number.
        suffix: lowercase suffix of the file name, such as ".csv".
        format: format of the file; None if only its source defines it.
        id: the column that identifies a row; None if the file has none.
        targets: role -> column of the targets.

    Example:
        TrainingFile(columns={"text": "Description"}, suffix=".csv", format=FileFormat("csv", delimiter=";"))
    """

    columns: Mapping[str, Columns]
    missing: tuple[str, ...] = MISSING
    suffix: str = ""
    format: FileFormat | None = None
    id: str | None = None
    targets: Mapping[str, Columns] = field(default_factory=dict)

    def id_in(self, columns: Mapping[str, Any]) -> Any:
        """Return the identifier of a row: the value of the column `id` of training, or of a column named `id`.

        Args:
            columns: all columns of the row.

        Example:
            >>> TrainingFile({"text": "Note"}, id="customer").id_in({"Note": "a", "customer": "C7"})
            'C7'
        """
        column = self.id if self.id in columns else ID
        return columns.get(column)

    def write(self, path: Path) -> None:
        """Write the description as JSON."""
        files.write_json(path, asdict(self))

    @staticmethod
    def read(path: Path, *, remedy: str) -> "TrainingFile":
        """Read the description.

        Raises:
            DataError: the file is damaged; names the remedy.
        """
        return files.read_json(path, TrainingFile, remedy=remedy)
