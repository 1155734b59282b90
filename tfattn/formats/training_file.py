"""What an export keeps of the file that it was trained on, so that others like it can be answered."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tfattn import files
from tfattn.formats.numbers import MISSING


@dataclass(frozen=True)
class FileFormat:
    """How rows stand in a file.

    Attributes:
        kind: "text" (a row is a line), "csv" (with any delimiter), or "jsonl".
        encoding: of the file; a byte-order mark is left out.
        delimiter, quoting, header: of a csv, as `CsvFile` takes them.
    """

    kind: Literal["text", "csv", "jsonl"]
    encoding: str = "utf-8"
    delimiter: str = ","
    quoting: bool = True
    header: bool = True


@dataclass(frozen=True)
class TrainingFile:
    """Where the inputs of a model came from.

    Attributes:
        columns: each input, and the column or key that it was read from.
        missing: the texts that say that a number is missing.
        suffix: of the file's name, in lower case, such as ".csv".
        format: how it was read; None where only its source knows.

    Example:
        TrainingFile(columns={"text": "Description"}, suffix=".csv", format=FileFormat("csv", delimiter=";"))
    """

    columns: Mapping[str, str]
    missing: tuple[str, ...] = MISSING
    suffix: str = ""
    format: FileFormat | None = None

    def write(self, path: Path) -> None:
        """Writes it as JSON."""
        files.write_json(path, asdict(self))

    @staticmethod
    def read(path: Path, *, remedy: str) -> "TrainingFile":
        """Reads what `write` wrote.

        Raises:
            DataError: it is damaged; says the remedy.
        """
        return files.read_json(path, TrainingFile, remedy=remedy)
