"""The contract of formats of published weights."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfattn import console, files, hub
from tfattn.errors import CheckpointError, nearest
from tfattn.features import TEXT
from tfattn.formats.training_file import TrainingFile
from tfattn.pretrained.tensor_files import TensorFile

if TYPE_CHECKING:  # sizes are read without Keras, which takes seconds to import
    import keras

RANDOM_STATE = "seed_generator_state"


@dataclass(frozen=True)
class ImportReport:
    """The used and unused tensors of a file, and the missing variables of the model, by name."""

    path: Path | str
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
        model_types: the values of `model_type` in config.json that the format reads, if it has this file.
        weights: patterns of the names of the tensor files.
        model: the catalog name of the model.
        preprocessor: the catalog name of its preprocessor.
        snapshot: the files on a hub that are read; None for a local folder.
    """

    description: str
    model_types: tuple[str, ...] = ()
    weights: tuple[str, ...]
    model: str
    preprocessor: str
    snapshot: hub.Snapshot | None = None

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

    def decoding(self) -> dict[str, Any]:
        """Read the published settings of the search for texts, arguments of `Decoding`; by default there are none."""
        return {}

    @property
    def max_length(self) -> int:
        """The truncation length of the training in tokens, or else the maximum length of the model."""
        return self.sizes()["max_sequence_length"]

    @property
    def trained_on(self) -> TrainingFile:
        """The fields of the training file and its format."""
        return TrainingFile({TEXT: TEXT})

    @cached_property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of the tensor files, and of all other files if they are from a hub, by path in the folder."""
        self.fetch_weights()
        names = {*self._weight_names(), *(self.snapshot.names() if self.snapshot else ())}
        return {name: files.sha256(self.folder / name) for name in sorted(names)}

    def fingerprint(self) -> str:
        """Return a digest of the tensor files, independent of the location of the folder."""
        digests = self.digests
        return files.digest({Path(name).name: digests[name] for name in self._weight_names()})

    @property
    def origin(self) -> dict[str, Any]:
        """The source of the weights for the card of an export: address or folder, license, language, SHA-256."""
        snapshot = self.snapshot
        stated = {name: snapshot and getattr(snapshot, name) for name in ("license", "language")}
        return {"from": self.address or str(self.path), **stated, "sha256": self.digests}

    def fetch_weights(self) -> None:
        """Download the weights of a model on a hub, if they are not in the cache; see `hub.Snapshot`."""
        if self.snapshot is not None:
            self.snapshot.fetch_weights()

    @property
    def address(self) -> str | None:
        """The address of a model on a hub, with the revision that is read; None for a local folder."""
        return None if self.snapshot is None else str(self.snapshot.address)

    @property
    def tensor_file(self) -> TensorFile:
        """The file that `stored_shapes` and `read` read by default."""
        raise NotImplementedError

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        """Read the shapes of all tensors, by their names in the file; weights on a hub are downloaded first."""
        self.fetch_weights()
        return self.tensor_file.shapes()

    @abstractmethod
    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        """Return the names of the tensors whose concatenation along the last axis is a variable of the model.

        Args:
            path: the variable's path below the model, such as block_0/attention/qkv/kernel, or of a head on top,
                such as masked_lm_head/bias.
            stored: the names of all tensors of the file, which distinguish variants of the format.
        """

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Read tensors in the layout of the variables, such as (inputs, outputs) for dense kernels."""
        return {name: self.convert(name, value) for name, value in self.tensor_file.read(names).items()}

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        """Convert a tensor of the file to the layout of the variable; by default return it unchanged."""
        return value

    def restore(self, name: str, value: np.ndarray) -> np.ndarray:
        """Convert a variable, or its part, to the layout of the file: the inverse of `convert`.

        By default the same as `convert`, which is its own inverse where it only transposes matrices.
        """
        return self.convert(name, value)

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
        self.fetch_weights()
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
        unused = sorted(set(stored) - set(needed))
        return ImportReport(self.address or self.path, used=needed, unused=unused, missing=[])

    def _weight_names(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for name in self.weights for path in self.folder.glob(name))

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
        """Refuse settings that differ from the defaults: the only value that the model supports, or a tuple of them."""
        for name, value in defaults.items():
            supported = value if isinstance(value, tuple) else (value,)
            if settings.get(name, supported[0]) not in supported:
                raise CheckpointError(
                    "not supported",
                    where=str(self.folder / file),
                    expected=f"{name} to be {' or '.join(map(str, supported))}",
                    received=str(settings[name])[:60],
                )

    def _existing(self, *names: str) -> Path:
        for name in names:
            if (self.folder / name).is_file():
                return self.folder / name
        raise CheckpointError("a file is missing", where=str(self.folder), expected=" or ".join(names))


@dataclass(frozen=True)
class TensorNames:
    """The tensor names of a format in the style of PyTorch: a layer, then `weight` or `bias`.

    Args:
        outer: the names of layers outside of blocks: token, position, norm and output.
        block: the prefix of names in a block; {} is the index of the block, from 0.
        parts: the names of the layers of a block; several names for a concatenated layer.
        own: the prefix of a block's name in the model.

    Example:
        >>> names = TensorNames({}, "h.{}.", {"feed_forward/output": ("mlp.c_proj",)})
        >>> names.tensor_names("block_3/feed_forward/output/bias")
        ('h.3.mlp.c_proj.bias',)
    """

    outer: Mapping[str, str]
    block: str
    parts: Mapping[str, tuple[str, ...]]
    own: str = "block_"

    def tensor_names(self, path: str) -> tuple[str, ...]:
        """Return the names of the tensors of a variable; its own path if the format has no such variable."""
        layer, _, kind = path.rpartition("/")
        suffix = "bias" if kind in ("bias", "beta") else "weight"
        if layer in self.outer:
            return (f"{self.outer[layer]}.{suffix}",)
        block, _, part = layer.partition("/")
        if not block.startswith(self.own):
            return (path,)
        prefix = self.block.format(block.removeprefix(self.own))
        return tuple(f"{prefix}{name}.{suffix}" for name in self.parts.get(part, ())) or (path,)


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


def unsupported_architecture(where: str, received: str, supported: Iterable[str]) -> CheckpointError:
    """Return the error of an architecture that cannot be read, with the nearest supported name.

    Names with a common start are near, such as llama4 and llama.

    Args:
        where: the file, for the message.
        received: the name of the architecture.
        supported: the names of all supported architectures.
    """
    return CheckpointError(
        "the architecture is not supported",
        where=where,
        expected=", ".join(supported),
        received=received[:60],
        remedy=nearest_architecture(received, supported),
    )


def nearest_architecture(received: str, supported: Iterable[str], *, of_kind: Sequence[str] = ()) -> str:
    """Return a sentence with the nearest supported architecture; "" if none is near.

    Args:
        received: the name of the architecture.
        supported: the names of all supported architectures.
        of_kind: supported architectures for the same kind of task, which follow those with a common start of the name.
    """
    prefixes = {name: len(os.path.commonprefix([name, received])) for name in supported}
    closest = max(prefixes, key=lambda name: (prefixes[name], -len(name)))
    if prefixes[closest] > 2:
        return f"The nearest is `{closest}`."
    return f"The nearest is `{of_kind[0]}`." if of_kind else nearest(received, prefixes)


def _summarize(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _concatenated_shape(values: Sequence[np.ndarray]) -> tuple[int, ...] | None:
    """Return the shape of tensors concatenated along their last axis; None if they do not fit."""
    leading = {value.shape[:-1] for value in values}
    return (*leading.pop(), sum(value.shape[-1] for value in values)) if len(leading) == 1 else None
