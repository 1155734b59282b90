"""An export whose networks are computed by LiteRT; TensorFlow computes what is before and after them.

LiteRT computes `serving_default` and `features`. Other signatures, such as attention, are answered by the SavedModel.
"""

import os
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from grpc import StatusCode

from tfattn import console, files
from tfattn.errors import ServingError, TfattnError
from tfattn.litert import Engine, model_file
from tfattn.litert.model import LiteRtModel
from tfattn.litert.model_file import EXPORT_AGAIN, FOLDER
from tfattn.serving.api.failure import Failure
from tfattn.serving.api.signature import DEFAULT
from tfattn.serving.engine.saved_model import SavedModel

BEFORE, AFTER = "litert_before_", "litert_after_"  # the signatures around the network of a signature
RESULT = "result_"
ROUNDS = 5  # of the measurement


def open_engine(
    folder: Path, engine: Engine = "auto", *, allow_operations: Collection[str] = (), operation_threads: int = 0
) -> "SavedModel | LiteRtEngine":
    """Load an export.

    Args:
        folder: the version's folder.
        engine: "tensorflow"; "litert", which needs a LiteRT file in the export; "auto" for LiteRT if there is a file
            that can be opened.
        allow_operations, operation_threads: see `SavedModel`.

    Raises:
        ServingError: as `SavedModel`, or the LiteRT file is missing or cannot be used; "auto" then uses TensorFlow.
    """
    model = SavedModel(folder, allow_operations=allow_operations, operation_threads=operation_threads)
    return with_engine(model, engine, operation_threads=operation_threads)


def with_engine(model: SavedModel, engine: Engine, *, operation_threads: int = 0) -> "SavedModel | LiteRtEngine":
    """Return a loaded export with an engine; see `open_engine`."""
    if engine == "tensorflow" or (engine == "auto" and not (model.folder / FOLDER).is_dir()):
        return model
    try:
        return LiteRtEngine(model, operation_threads=operation_threads)
    except TfattnError as error:
        if engine == "litert":
            raise
        console.note(f"TensorFlow computes the model, because its LiteRT file cannot be used: {error}")
        return model


class LiteRtEngine:
    """An export that is computed with LiteRT, with the interface of `SavedModel`.

    Args:
        model: the SavedModel of the export.
        operation_threads: the threads of one call; 0 for the fastest number.

    Attributes:
        folder, signatures: as of the SavedModel.
        path: the LiteRT file.

    Raises:
        ServingError: the export has no LiteRT file, or the file is damaged or of another export.
    """

    def __init__(self, model: SavedModel, *, operation_threads: int = 0):
        self.folder, self.signatures = model.folder, model.signatures
        self._saved = model
        self.path = _file(model)
        self._network = LiteRtModel(self.path, num_threads=operation_threads or 1)
        _check_identity(self._network, model.folder)
        self._threads_are_chosen = operation_threads != 0 or (os.cpu_count() or 1) == 1

    def run(
        self, signature: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """Compute outputs, as `SavedModel.run`."""
        if signature not in self._network.signatures or not all(len(value) for value in inputs.values()):
            return self._saved.run(signature, inputs, outputs)
        found = self._saved.run(f"{BEFORE}{signature}", inputs)
        features = {name: found[name] for name in self._network.signatures[signature][0]}
        if not self._threads_are_chosen:
            self._choose_threads(signature, features)
        try:
            found |= self._network.run(signature, features)
        except ServingError as error:
            raise Failure(StatusCode.INTERNAL, str(error)) from None
        after = f"{AFTER}{signature}"
        found |= self._saved.run(after, {name: found[name] for name in self.signatures[after].inputs})
        results = {name.removeprefix(RESULT): value for name, value in found.items() if name.startswith(RESULT)}
        return {name: results[name] for name in outputs or sorted(results)}

    def _choose_threads(self, signature: str, features: Mapping[str, np.ndarray]) -> None:
        """Use two threads if the first request is computed faster by them."""
        self._threads_are_chosen = True
        wider = LiteRtModel(self.path, num_threads=2)
        if _seconds(wider, signature, features) < 0.9 * _seconds(self._network, signature, features):
            self._network = wider


def _seconds(model: LiteRtModel, signature: str, features: Mapping[str, np.ndarray]) -> float:
    times = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        model.run(signature, features)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def _file(model: SavedModel) -> Path:
    found = model_file.find(model.folder)
    if found is None or f"{BEFORE}{DEFAULT}" not in model.signatures:
        raise ServingError(
            "the export has no LiteRT file",
            where=str(model.folder / FOLDER),
            remedy="Export with `--set export.formats=[saved_model,litert]`, or serve with `--set engine=tensorflow`.",
        )
    return found


def _check_identity(network: LiteRtModel, folder: Path) -> None:
    """Refuse the file of another export, whose vocabulary and labels may differ."""
    expected, received = _identity(folder), network.description.get("export", "")
    if received != expected:
        raise ServingError(
            "the LiteRT file is of another export",
            where=str(network.path),
            expected=f"the file of the export {expected[:12]}",
            received=f"that of {received[:12] or 'an unknown one'}",
            remedy=EXPORT_AGAIN,
        )


def _identity(folder: Path) -> str:
    """Compute the identity of a SavedModel from its manifest, whose SHA-256 were verified when it was loaded."""
    entries = files.read_manifest(folder)["files"]
    chosen = {name: entry["sha256"] for name, entry in entries.items() if _is_of_graph(name)}
    return files.digest(chosen)


def _is_of_graph(name: Any) -> bool:
    return name == "saved_model.pb" or name.startswith("variables/")
