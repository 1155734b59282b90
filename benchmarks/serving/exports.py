"""What is served and asked: an export whose versions come and go, and reports."""

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
    """Factory reports.

    Args:
        path: a file of text lines, or a csv file with a column `Description`; without one, the invented sample.
    """
    if path is not None:
        return [row.fields["text"] for row in input_rows.read(str(path), TrainingFile({"text": COLUMN}))]
    with tempfile.TemporaryDirectory() as scratch:
        factory_reports.write(Path(scratch) / "reports.csv")
        return reports(Path(scratch) / "reports.csv")


def rows(path: Path, model: Path) -> list[dict[str, str | float]]:
    """The rows of a csv or tsv file as a model of tables takes them."""
    known = local.load(str(model))
    return [values(row, known) for row in input_rows.read(str(path), known.trained_on)]


class Export:
    """An exported model of which versions can be added and removed while it is served.

    Args:
        folder: the model's folder, with the one version 1 in it.

    Attributes:
        folder: as given.
        name: the model's name.
        newest: the number of the newest version.
    """

    def __init__(self, folder: Path):
        self.folder, self.name, self.newest = folder, folder.name, 1

    @classmethod
    def copied(cls, model: Path, scratch: Path) -> "Export":
        """Copies the newest version of a model, and the batching parameters beside the model, into an empty folder."""
        version = model_store.find(str(model))
        if (version.parent.parent / BATCHING_PARAMETERS).is_file():
            shutil.copy(version.parent.parent / BATCHING_PARAMETERS, scratch)
        shutil.copytree(version, scratch / version.parent.name / "1")
        return cls(scratch / version.parent.name)

    def add(self) -> int:
        """Adds a version that appears whole, at once; its number."""
        hidden = self.folder / f".{self.newest + 1}"
        shutil.copytree(self.folder / str(self.newest), hidden, copy_function=os.link)
        self.newest += 1
        hidden.rename(self.folder / str(self.newest))
        return self.newest

    def remove(self, number: int) -> None:
        """Removes a version."""
        files.remove_folder(self.folder / str(number))
