"""The `export:` section: where the SavedModel goes, under which version, and how strictly it is checked."""

import time
from pathlib import Path
from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from tfattn import files
from tfattn.errors import ExportError


class Export:
    """Where an export goes and when it counts as right.

    Args:
        folder: the folder of all exported models; this one becomes <folder>/<name>/<version>/.
        version: "timestamp" (seconds since 1970), "next" (one more than the newest), or a number that is not taken yet.
        keep: how many versions of a model stay; older ones are deleted once the new one is verified.
        parity_rows: on how many validation rows, taken evenly, the export is held against the trained model.
        tolerance: how far a score of the export may lie from the trained model's.
        served_from: the folder under which a TensorFlow model server sees `folder`; it goes into models.config. The
            default is where TF Serving's container images look.

    Example:
        >>> Export(folder="saved_models", version="next").next_version("factory_reports")
        1
    """

    def __init__(
        self,
        *,
        folder: str = "saved_models",
        version: Literal["timestamp", "next"] | PositiveInt = "timestamp",
        keep: PositiveInt = 3,
        parity_rows: PositiveInt = 1000,
        tolerance: PositiveFloat = 1e-5,
        served_from: str = "/models",
    ):
        self.folder = folder
        self.version = version
        self.keep = keep
        self.parity_rows = parity_rows
        self.tolerance = tolerance
        self.served_from = served_from

    def next_version(self, name: str) -> int:
        """Choose the version that a new export of this model gets.

        Raises:
            ExportError: the configuration names a version that stands already; servers never read one twice.
        """
        taken = files.numbered(Path(self.folder) / name)
        after = max(taken, default=0) + 1
        if self.version == "timestamp":
            return max(int(time.time()), after)
        if self.version == "next":
            return after
        if self.version in taken:
            raise ExportError(
                "this version stands already",
                where=str(taken[self.version]),
                expected=f"a free number, such as {after}",
                received=str(self.version),
                remedy="Set export.version to `next` or `timestamp`: a server never reads a version twice.",
            )
        return self.version
