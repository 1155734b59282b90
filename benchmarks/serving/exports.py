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
    """A copy of an exported model, of which versions can be added and removed while it is served.

    Args:
        model: the model's folder, or that of one of its versions.
        scratch: an empty folder to copy it to; the batching parameters beside the model come along.

    Attributes:
        name: the model's name.
        folder: the copy's folder, with the versions in it.
        newest: the number of the newest version.
    """

    def __init__(self, model: Path, scratch: Path):
        version = model_store.find(str(model))
        self.name = version.parent.name
        self.folder = scratch / self.name
        self.folder.mkdir()
        if (version.parent.parent / BATCHING_PARAMETERS).is_file():
            shutil.copy(version.parent.parent / BATCHING_PARAMETERS, scratch)
        self.newest = 1
        shutil.copytree(version, self.folder / "1")

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
