"""A table that is prepared in many small parts, by any engine and in any process."""

import functools
from pathlib import Path
from typing import Any

from tfattn import files
from tfattn.data.batching import Batching
from tfattn.data.engines.engine import Engine
from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.examples import Examples
from tfattn.data.preparation.prepare import prepare
from tfattn.data.section import Data
from tfattn.data.split_config import Split
from tfattn.formats import parts
from tfattn.formats.csv_files import CsvFile
from tfattn.preprocessing.table import TableColumns

PART_BYTES = 256  # of about 35 rows


def write(folder: Path, *, rows: int = 200, changed: int | None = None) -> None:
    """Writes a table, sorted by class; one row of it may be wrong."""
    lines = [f"{number % 7},{number % 5},{'no' if number < rows / 2 else 'yes'}" for number in range(rows)]
    if changed:
        lines[changed] = "old,1,no"
    (folder / "rows.csv").write_text("\n".join(["age,score,label", *lines, ""]))


def section(folder: Path | str, engine: Engine, work_folder: str | None = None) -> Data:
    """Makes the section of the table, in any process: parts must be as small there."""
    parts.PART_BYTES = PART_BYTES
    return Data(
        source=CsvFile(path=f"{folder}/rows.csv", fields={"label": "label"}),
        preprocessing=TableColumns(numeric=("age", "score")),
        batching=Batching(batch_size=4),
        split=Split(validation=0.2),
        targets=Classes(),
        examples=Examples(),
        engine=engine,
        work_folder=work_folder,
    )


def prepared(
    folder: Path, name: str, engine: Engine, *, identity: str = "", work_folder: str | None = None
) -> dict[str, Any]:
    """Prepares the table, and returns the manifest of what has come of it."""
    make = functools.partial(section, folder, engine, work_folder)
    prepare(make(), folder / name, seed=3, make=make, identity=identity)
    return files.verify(folder / name)
