"""The contract of a format of published weights."""

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

if TYPE_CHECKING:  # the sizes of a model are read from its files without Keras, which takes seconds to import
    import keras

RANDOM_STATE = "seed_generator_state"


@dataclass(frozen=True)
class ImportReport:
    """The tensors of an import: the file's names of used and unused ones, the model's names of missing ones."""

    place: Path
    used: list[str]
    unused: list[str]
    missing: list[str]

    def show(self) -> None:
        """Print a summary in one line."""
        few = f" ({', '.join(self.unused[:3])}{', ...' if len(self.unused) > 3 else ''})" if self.unused else ""
        counts = f"{len(self.used)} tensors used, {len(self.unused)} unused{few}, {len(self.missing)} missing"
        console.note(f"Pretrained weights from {self.place}: {counts}")


class Pretrained(ABC):
    """A folder of published weights.

    A format tells how its tensors are named and laid out; comparing and copying them is common to all.

    Args:
        folder: an existing folder that `matches`.

    Attributes:
        looks_like: the files by which the format is recognized, in a few words.
        weights: patterns of the names of the files that hold tensors.
        model: whose sizes and weights they are, by its name in the catalog.
        preprocessor: what makes the tokens that it reads, by its name in the catalog.
    """

    looks_like: str
    weights: tuple[str, ...]
    model: str
    preprocessor: str

    def __init__(self, folder: Path):
        self.folder = Path(folder)

    @property
    def place(self) -> Path:
        """What messages name: the folder, or the one file that holds everything."""
        return self.folder

    @classmethod
    @abstractmethod
    def matches(cls, folder: Path) -> bool:
        """Tell whether a folder looks like this format."""

    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """Read the arguments with which to construct the model."""

    @abstractmethod
    def tokenization(self) -> dict[str, Any]:
        """Read how texts become tokens: the arguments of the preprocessor's `adopt`."""

    @property
    def max_length(self) -> int:
        """The length in tokens to which longer texts were cut, or else the longest that the model takes."""
        return self.sizes()["max_sequence_length"]

    @property
    def trained_on(self) -> TrainingFile:
        """The fields that the model reads, and how a file of them is read."""
        return TrainingFile({TEXT: TEXT})

    def fingerprint(self) -> str:
        """Return a digest of the tensors' files, independent of where the folder stands."""
        found = sorted(path for pattern in self.weights for path in self.folder.glob(pattern))
        return files.digest({path.name: files.sha256(path) for path in found})

    @abstractmethod
    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        """Read the shapes of the tensors of the file, by their names there."""

    @abstractmethod
    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        """Return the names of the tensors that make one of our variables, side by side along its last axis.

        Args:
            path: the variable's path below the model, such as block_0/attention/qkv/kernel, or of a head on top of it,
                such as masked_lm_head/bias.
            stored: the names of all tensors of the file, which tell variants of the format apart.
        """

    @abstractmethod
    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Read tensors, laid out as our variables: (inputs, outputs)."""

    def adapted(self, values: dict[str, list[np.ndarray]], model: "keras.Model") -> dict[str, list[np.ndarray]]:
        """Change what was read to what a model of other sizes takes, where that has a meaning; by default nothing.

        Args:
            values: the tensors that make each of the variables, by its path.
            model: which they are for.
        """
        return values

    def load_into(self, model: "keras.Model", optional: Sequence["keras.layers.Layer"] = ()) -> ImportReport:
        """Load the published weights into a model.

        Args:
            model: all of it is loaded, but what is optional.
            optional: layers of the model, or heads on top of it, that stay as they are where the file has none.

        Returns:
            which tensors were used and which were not.

        Raises:
            CheckpointError: the file cannot be read, or tensors are missing or of another shape; names all of them. The
                model is then as it was.
        """
        of_model = {id(v): v.path.partition("/")[2] for v in model.variables}
        stored = self.stored_shapes()
        variables = {v.path.partition("/")[2]: v for v in model.variables if not v.path.endswith(RANDOM_STATE)}
        for layer in optional:
            own = {of_model.get(id(v), v.path): v for v in layer.variables}
            is_stored = all(name in stored for path in own for name in self.stored_names(path, stored))
            variables = {path: v for path, v in variables.items() if path not in own} | (own if is_stored else {})
        pieces = {path: self.stored_names(path, stored) for path in variables}
        needed = [name for names in pieces.values() for name in names]
        missing = [name for name in needed if name not in stored]
        if missing:
            raise CheckpointError(
                f"{len(missing)} of {len(needed)} tensors are missing",
                where=str(self.place),
                expected=_few(missing),
                remedy=f"Choose a folder that holds a whole `{self.model}` of the model's sizes.",
            )
        tensors = self.read(needed)
        values = {path: [np.asarray(tensors[name], "float32") for name in names] for path, names in pieces.items()}
        values = self.adapted(values, model)
        wrong = [
            f"{', '.join(f'{name} {tensors[name].shape}' for name in pieces[path])} for {path} {tuple(variable.shape)}"
            for path, variable in variables.items()
            if _side_by_side(values[path]) != tuple(variable.shape)
        ]
        if wrong:
            raise CheckpointError(
                f"{len(wrong)} tensors have another shape than the model's",
                where=str(self.place),
                received=_few(wrong),
                remedy="Remove the sizes from the model's section: they are those of the pretrained folder.",
            )
        for path, variable in variables.items():
            variable.assign(np.concatenate(values[path], axis=-1))
        return ImportReport(self.place, used=needed, unused=sorted(set(stored) - set(needed)), missing=[])

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

    def _refuse(self, settings: Mapping[str, Any], usual: Mapping[str, Any], file: str) -> None:
        """Refuse a setting that is another than the usual one, which our model has, where it is given at all."""
        for name, value in usual.items():
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
        CheckpointError: the file cannot be read, or holds something else.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"cannot be read as JSON ({error})", where=str(path)) from None
    if not isinstance(value, dict):
        raise CheckpointError("wrong content", where=str(path), expected="a JSON object", received=type(value).__name__)
    return value


def _few(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _side_by_side(values: Sequence[np.ndarray]) -> tuple[int, ...] | None:
    """Return the shape of tensors side by side along their last axis; None where they do not fit."""
    above = {value.shape[:-1] for value in values}
    return (*above.pop(), sum(value.shape[-1] for value in values)) if len(above) == 1 else None
