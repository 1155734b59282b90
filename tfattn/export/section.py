"""The `export:` section: folder, version and verification of the SavedModel."""

import time
from pathlib import Path
from typing import Literal

from pydantic import PositiveFloat, PositiveInt

from tfattn import files
from tfattn.errors import ConfigError, ExportError

Format = Literal["saved_model", "litert"]
Precision = Literal["float32", "int8"]


class Export:
    """Export settings.

    Args:
        folder: the folder of all exported models; an export is <folder>/<name>/<version>/.
        version: "timestamp" (seconds since 1970), "next" (the newest version plus one), or an unused number.
        keep: the number of versions of a model to keep; older versions are deleted after the new version is verified.
        parity_rows: the number of evenly spaced validation rows on which export and trained model are compared.
        tolerance: the largest allowed absolute difference of a score between export and trained model.
        formats: `saved_model`, and `litert` for an additional LiteRT file, which answers small requests several times
            as fast; see docs/litert.md.
        litert_precision: the weights of the LiteRT file: "float32", or "int8", a quarter as large. A file with smaller
            weights is only written if it predicts as well as the trained model; a file with float32 weights is always
            written.
        merge_adapter: whether the export has a `model.adapter` added to its kernels, which costs nothing in prediction;
            otherwise the export computes it separately.
        served_from: the path of `folder` for a TensorFlow model server, written to models.config. The default is the
            path in TF Serving's container images.

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
        formats: tuple[Format, ...] = ("saved_model",),
        litert_precision: Precision = "int8",
        merge_adapter: bool = True,
        served_from: str = "/models",
    ):
        self.folder = folder
        self.version = version
        self.keep = keep
        self.parity_rows = parity_rows
        self.tolerance = tolerance
        if "saved_model" not in formats:
            raise ConfigError(
                "an export always has a SavedModel",
                key="formats",
                expected="[saved_model] or [saved_model, litert]",
                received=f"[{', '.join(formats)}]",
            )
        self.formats = formats
        self.litert_precision = litert_precision
        self.merge_adapter = merge_adapter
        self.served_from = served_from

    def next_version(self, name: str) -> int:
        """Return the version of a new export of this model.

        Raises:
            ExportError: the configured version exists; servers never read a version twice.
        """
        taken = files.numbered(Path(self.folder) / name)
        after = max(taken, default=0) + 1
        if self.version == "timestamp":
            return max(int(time.time()), after)
        if self.version == "next":
            return after
        if self.version in taken:
            raise ExportError(
                "this version exists already",
                where=str(taken[self.version]),
                expected=f"a free number, such as {after}",
                received=str(self.version),
                remedy="Set export.version to `next` or `timestamp`: a server never reads a version twice.",
            )
        return self.version
