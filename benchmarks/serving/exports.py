"""The served export, whose versions are added and removed, and its requests."""

import os
import shutil
import tempfile
from pathlib import Path

from tfattn import files
from tfattn.formats.training_file import TrainingFile
from tfattn.samples import factory_reports
from tfattn.serving.client import input_rows, local
from tfattn.serving.client.predict import values
from tfattn.serving.engine.batching_parameters import FILE as BATCHING_PARAMETERS
from tfattn.serving.models import model_store

COLUMN = "Description"


def reports(path: Path | None = None) -> list[str]:
    """Return factory reports.

    Args:
        path: a file of text lines, or a csv file with a column `Description`; by default the synthetic sample.
    """
    if path is not None:
        return [row.fields["text"] for row in input_rows.read(str(path), TrainingFile({"text": COLUMN}))]
    with tempfile.TemporaryDirectory() as scratch:
        factory_reports.write(Path(scratch) / "reports.csv")
        return reports(Path(scratch) / "reports.csv")


def rows(path: Path, model: Path) -> list[dict[str, str | float]]:
    """Return the rows of a csv or tsv file as inputs of a table model."""
    known = local.load(str(model))
    return [values(row, known) for row in input_rows.read(str(path), known.trained_on)]


class Export:
    """An exported model whose versions can be added and removed while it is served.

    Args:
        folder: the folder of the model, with the single version 1.

    Attributes:
        folder: as given.
        name: the name of the model.
        newest: the number of the newest version.
    """

    def __init__(self, folder: Path):
        self.folder, self.name, self.newest = folder, folder.name, 1

    @classmethod
    def copied(cls, model: Path, scratch: Path) -> "Export":
        """Copy the newest version of a model, and its batching parameters, into an empty folder."""
        version = model_store.find(str(model))
        if (version.parent.parent / BATCHING_PARAMETERS).is_file():
            shutil.copy(version.parent.parent / BATCHING_PARAMETERS, scratch)
        shutil.copytree(version, scratch / version.parent.name / "1")
        return cls(scratch / version.parent.name)

    def add(self) -> int:
        """Add a version atomically; return its number."""
        hidden = self.folder / f".{self.newest + 1}"
        shutil.copytree(self.folder / str(self.newest), hidden, copy_function=os.link)
        self.newest += 1
        hidden.rename(self.folder / str(self.newest))
        return self.newest

    def remove(self, number: int) -> None:
        """Remove a version."""
        files.remove_folder(self.folder / str(number))
