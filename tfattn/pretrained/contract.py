"""The contract of formats of published weights."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfattn import console, files
from tfattn.errors import CheckpointError
from tfattn.features import TEXT
from tfattn.formats.training_file import TrainingFile

if TYPE_CHECKING:  # sizes are read without Keras, which takes seconds to import
    import keras

RANDOM_STATE = "seed_generator_state"


@dataclass(frozen=True)
class ImportReport:
    """The used and unused tensors of a file, and the missing variables of the model, by name."""

    path: Path
    used: list[str]
    unused: list[str]
    missing: list[str]

    def show(self) -> None:
        """Print a one-line summary."""
        names = f" ({', '.join(self.unused[:3])}{', ...' if len(self.unused) > 3 else ''})" if self.unused else ""
        counts = f"{len(self.used)} tensors used, {len(self.unused)} unused{names}, {len(self.missing)} missing"
        console.note(f"Pretrained weights from {self.path}: {counts}")


class Pretrained(ABC):
    """A folder of published weights.

    A subclass defines the names and the layout of the tensors; comparing and copying them is common to all formats.

    Args:
        folder: an existing folder that `matches`.

    Attributes:
        description: the files that identify the format, for messages.
        weights: patterns of the names of the tensor files.
        model: the catalog name of the model.
        preprocessor: the catalog name of its preprocessor.
    """

    description: str
    weights: tuple[str, ...]
    model: str
    preprocessor: str

    def __init__(self, folder: Path):
        self.folder = Path(folder)

    @property
    def path(self) -> Path:
        """The path for messages: the folder, or the single file of the format."""
        return self.folder

    @classmethod
    @abstractmethod
    def matches(cls, folder: Path) -> bool:
        """Return whether a folder has this format."""

    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """Read the arguments of the model's constructor."""

    @abstractmethod
    def tokenization(self) -> dict[str, Any]:
        """Read the arguments of the preprocessor's `adopt`."""

    @property
    def max_length(self) -> int:
        """The truncation length of the training in tokens, or else the maximum length of the model."""
        return self.sizes()["max_sequence_length"]

    @property
    def trained_on(self) -> TrainingFile:
        """The fields of the training file and its format."""
        return TrainingFile({TEXT: TEXT})

    def fingerprint(self) -> str:
        """Return a digest of the tensor files, independent of the location of the folder."""
        found = sorted(path for pattern in self.weights for path in self.folder.glob(pattern))
        return files.digest({path.name: files.sha256(path) for path in found})

    @abstractmethod
    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        """Read the shapes of all tensors, by their names in the file."""

    @abstractmethod
    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        """Return the names of the tensors whose concatenation along the last axis is a variable of the model.

        Args:
            path: the variable's path below the model, such as block_0/attention/qkv/kernel, or of a head on top,
                such as masked_lm_head/bias.
            stored: the names of all tensors of the file, which distinguish variants of the format.
        """

    @abstractmethod
    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Read tensors in the layout of the variables, such as (inputs, outputs) for dense kernels."""

    def adapt(self, values: dict[str, list[np.ndarray]], model: "keras.Model") -> dict[str, list[np.ndarray]]:
        """Convert tensors to a model of other sizes, if the format can; by default return them unchanged.

        Args:
            values: the tensors of each variable, by its path.
            model: the model to load.
        """
        return values

    def load_into(self, model: "keras.Model", optional: Sequence["keras.layers.Layer"] = ()) -> ImportReport:
        """Load the published weights into a model.

        Args:
            model: the model; all variables except optional ones are loaded.
            optional: layers of the model, or heads on top of it, that stay unchanged if the file has no weights.

        Returns:
            the used and unused tensors.

        Raises:
            CheckpointError: the file cannot be read, or tensors are missing or have another shape; names them. The
                model is unchanged.
        """
        paths = {id(v): v.path.partition("/")[2] for v in model.variables}
        stored = self.stored_shapes()
        variables = {v.path.partition("/")[2]: v for v in model.variables if not v.path.endswith(RANDOM_STATE)}
        for layer in optional:
            own = {paths.get(id(v), v.path): v for v in layer.variables}
            is_stored = all(name in stored for path in own for name in self.stored_names(path, stored))
            variables = {path: v for path, v in variables.items() if path not in own} | (own if is_stored else {})
        pieces = {path: self.stored_names(path, stored) for path in variables}
        needed = [name for names in pieces.values() for name in names]
        missing = [name for name in needed if name not in stored]
        if missing:
            raise CheckpointError(
                f"{len(missing)} of {len(needed)} tensors are missing",
                where=str(self.path),
                expected=_summarize(missing),
                remedy=f"Choose a folder with a whole `{self.model}` of the model's sizes.",
            )
        tensors = self.read(needed)
        values = {path: [np.asarray(tensors[name], "float32") for name in names] for path, names in pieces.items()}
        values = self.adapt(values, model)
        mismatches = [
            f"{', '.join(f'{name} {tensors[name].shape}' for name in pieces[path])} for {path} {tuple(variable.shape)}"
            for path, variable in variables.items()
            if _concatenated_shape(values[path]) != tuple(variable.shape)
        ]
        if mismatches:
            raise CheckpointError(
                f"{len(mismatches)} tensors have another shape than the model's",
                where=str(self.path),
                received=_summarize(mismatches),
                remedy="Remove the sizes from the model's section: the pretrained folder defines them.",
            )
        for path, variable in variables.items():
            variable.assign(np.concatenate(values[path], axis=-1))
        return ImportReport(self.path, used=needed, unused=sorted(set(stored) - set(needed)), missing=[])

    def _json(self, name: str) -> dict[str, Any]:
        return read_json(self.folder / name)

    def _setting(self, settings: dict[str, Any], name: str, file: str, known: dict[str, str] | None = None) -> Any:
        where = str(self.folder / file)
        if name not in settings:
            raise CheckpointError(f"`{name}` is not given", where=where)
        value = settings[name]
        if known is None:
            return value
        if value not in known:
            expected = f"{name} to be one of {', '.join(known)}"
            raise CheckpointError("not supported", where=where, expected=expected, received=str(value))
        return known[value]

    def _require_defaults(self, settings: Mapping[str, Any], defaults: Mapping[str, Any], file: str) -> None:
        """Refuse settings that differ from the defaults, which are the only values that the model supports."""
        for name, value in defaults.items():
            if settings.get(name, value) != value:
                raise CheckpointError(
                    "not supported",
                    where=str(self.folder / file),
                    expected=f"{name} to be {value}",
                    received=str(settings[name])[:60],
                )

    def _existing(self, *names: str) -> Path:
        for name in names:
            if (self.folder / name).is_file():
                return self.folder / name
        raise CheckpointError("a file is missing", where=str(self.folder), expected=" or ".join(names))


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        CheckpointError: the file cannot be read, or is no JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"cannot be read as JSON ({error})", where=str(path)) from None
    if not isinstance(value, dict):
        raise CheckpointError("wrong content", where=str(path), expected="a JSON object", received=type(value).__name__)
    return value


def _summarize(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _concatenated_shape(values: Sequence[np.ndarray]) -> tuple[int, ...] | None:
    """Return the shape of tensors concatenated along their last axis; None if they do not fit."""
    leading = {value.shape[:-1] for value in values}
    return (*leading.pop(), sum(value.shape[-1] for value in values)) if len(leading) == 1 else None
