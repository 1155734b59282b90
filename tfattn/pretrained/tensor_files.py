"""Files of published tensors, read by name: safetensors, HDF5 and TensorFlow checkpoints.

Only arrays are read: loading a file as a Keras model, or unpickling it, could run code.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from typing_extensions import TypedDict

from tfattn import files
from tfattn.errors import CheckpointError, listed
from tfattn.hub.requested_files import shards

SAFETENSORS = "model.safetensors"  # of transformers
SAFETENSORS_INDEX = "model.safetensors.index.json"
KERAS_WEIGHTS, KERAS_INDEX = "model.weights.h5", "model.weights.json"  # of KerasHub


class _Index(TypedDict):
    """The content of the index of several safetensors files, restricted to the field that is read."""

    weight_map: dict[str, str]


class TensorFile(Protocol):
    """A file of tensors. The methods raise CheckpointError if the file is missing or damaged."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Read the shapes of all tensors, by name."""

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Read some tensors, by name."""


class SafetensorsFile:
    """The safetensors of a folder of transformers: one file, or several files with an index."""

    def __init__(self, folder: Path):
        self.folder = folder

    def shapes(self) -> dict[str, tuple[int, ...]]:
        found = {}
        for part, names in self._parts().items():
            with self._open(part) as file:
                inside = file.keys()
                if missing := sorted(set(names or ()).difference(inside)):
                    raise CheckpointError(
                        "the file lacks tensors that the index lists",
                        where=str(self.folder / part),
                        expected=listed(missing, 5),
                        received=f"{len(inside):,} others",
                        remedy="Download the folder again.",
                    )
                found |= {name: tuple(file.get_slice(name).get_shape()) for name in names or inside}
        return found

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        wanted, found = set(names), {}
        for part, inside in self._parts().items():
            if some := wanted if inside is None else wanted.intersection(inside):
                with self._open(part) as file:
                    found |= {name: file.get_tensor(name) for name in some}
        return found

    def _parts(self) -> dict[str, list[str] | None]:
        """Return the names of the tensors in each file, from the index; None for all tensors of a single file."""
        path = self.folder / SAFETENSORS_INDEX
        if (self.folder / SAFETENSORS).is_file() or not path.is_file():
            return {SAFETENSORS: None}
        parts: dict[str, list[str] | None] = {}
        for name, part in files.read_json(path, _Index)["weight_map"].items():
            parts.setdefault(part, []).append(name)
        return parts

    @contextmanager
    def _open(self, name: str) -> Iterator[Any]:
        import ml_dtypes  # noqa: F401 (registers bfloat16 in NumPy; most decoders are published in it)
        from safetensors import SafetensorError, safe_open

        path = self.folder / name
        if path.name != name or not path.is_file():  # an index names files of its own folder only
            raise self._missing(name)
        try:
            with safe_open(path, framework="np") as file:
                yield file
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"cannot be read as safetensors ({error})", where=str(path)) from None

    def _missing(self, name: str) -> CheckpointError:
        others = sorted(file.name for pattern in ("*.bin", "*.safetensors") for file in self.folder.glob(pattern))
        remedy = ""
        if name != SAFETENSORS:
            remedy = f"Download all files that {SAFETENSORS_INDEX} lists."
        elif any(other.endswith(".bin") for other in others):
            remedy = (
                "Pickled weights can run code and are never read; save the model again with transformers: "
                "model.save_pretrained(folder, safe_serialization=True)."
            )
        elif others:
            remedy = f"Files in parts need their index, {SAFETENSORS_INDEX}: download it too."
        return CheckpointError(
            "a file is missing", where=str(self.folder), expected=name, received=", ".join(others), remedy=remedy
        )


class Hdf5File:
    """The arrays of an HDF5 file."""

    def __init__(self, path: Path):
        self.path = path

    def shapes(self) -> dict[str, tuple[int, ...]]:
        import h5py

        found = {}

        def visit(name: str, item: Any) -> None:
            # A virtual or external dataset names another file to read from.
            if isinstance(item, h5py.Dataset) and not item.is_virtual and not item.external:
                found[name] = item.shape

        with self._open() as file:
            file.visititems(visit)
        return found

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        with self._open() as file:
            return {name: np.asarray(file[name]) for name in names}

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import h5py

        if not self.path.is_file():
            raise CheckpointError("a file is missing", where=str(self.path.parent), expected=self.path.name)
        try:
            with h5py.File(self.path, "r") as file:
                yield file
        except OSError as error:
            raise CheckpointError(f"cannot be read as HDF5 ({error})", where=str(self.path)) from None


class KerasHubWeights:
    """The arrays of a preset of KerasHub: one HDF5 file, or several files with an index."""

    def __init__(self, folder: Path):
        self.folder = folder

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: shape for file in self._files() for name, shape in file.shapes().items()}

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        wanted, found = set(names), {}
        for file in self._files():
            found |= file.read(wanted.intersection(file.shapes()))
        return found

    def _files(self) -> list[Hdf5File]:
        index = self.folder / KERAS_INDEX
        if (self.folder / KERAS_WEIGHTS).is_file() or not index.is_file():
            return [Hdf5File(self.folder / KERAS_WEIGHTS)]
        return [Hdf5File(self.folder / name) for name in shards(index, where=str(self.folder))]


class TensorFlowCheckpoint:
    """A TensorFlow checkpoint, read without a graph.

    Args:
        path: the path of the files, without suffixes.
    """

    def __init__(self, path: Path):
        self.path = path

    def shapes(self) -> dict[str, tuple[int, ...]]:
        with self._open() as reader:
            return {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        with self._open() as reader:
            return {name: reader.get_tensor(name) for name in names}

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import tensorflow as tf  # imported here: the sizes of a model are read without TensorFlow

        index = self.path.with_name(f"{self.path.name}.index")
        if not index.is_file():
            raise CheckpointError("a file is missing", where=str(index.parent), expected=index.name)
        try:
            yield tf.train.load_checkpoint(str(self.path))
        except (tf.errors.OpError, RuntimeError, ValueError, LookupError) as error:
            raise CheckpointError(
                f"cannot be read as a TensorFlow checkpoint ({error})", where=str(self.path)
            ) from None
