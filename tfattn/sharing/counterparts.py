"""The counterpart of a model in transformers: the architecture with the same arguments, and its tensors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.errors import CheckpointError, ExportError, listed
from tfattn.pretrained.contract import Pretrained
from tfattn.pretrained.gpt import PublishedGpt
from tfattn.pretrained.hugging_face import CONFIG, HuggingFaceFolder
from tfattn.sharing.architecture import Architecture, derived
from tfattn.sharing.architectures import architectures
from tfattn.sharing.trained_export import defaults

POOLER = "pooler/"
# Arguments that have an effect only if another argument is given.
ONLY_WITH = {
    "local_attention": ("global_attention_every", "local_rotary_base"),
    "window": ("global_layers", "local_rotary_base"),
}
# Arguments that have no effect on predictions.
OF_TRAINING = ("dropout", "attention_dropout", "token_dropout", "stochastic_depth", "initializer_range")


@dataclass(frozen=True)
class Counterpart:
    """An architecture that computes the same as a model.

    Args:
        architecture: the architecture.
        reader: the reader of a folder with its config.json.
        config: the content of config.json, without the head.
    """

    architecture: Architecture
    reader: HuggingFaceFolder
    config: dict[str, Any]


def find(
    model: str,
    arguments: Mapping[str, Any],
    folder: Path,
    *,
    preprocessor: str,
    where: str,
    special_ids: Mapping[str, int],
) -> Counterpart:
    """Find the architecture of transformers that computes the same as a model.

    An architecture fits if the reader of its config.json finds the arguments of the model. Architectures whose
    published tokenizers are of the same kind are tried first.

    Args:
        model: the catalog name of the model.
        arguments: all arguments of its constructor.
        folder: a folder with the other files that define arguments, such as preprocessor_config.json; config.json is
            written there.
        preprocessor: the catalog name of its preprocessor.
        where: the export or the run, for messages.
        special_ids: the ids of special tokens, by the names of config.json.

    Raises:
        ExportError: no architecture fits; names the arguments in which the most similar architecture differs.
    """
    known = list(architectures())
    candidates = [candidate for candidate in known if candidate.model == model]
    if not candidates:
        raise ExportError(
            "the model has no counterpart in transformers",
            where=where,
            expected=f"one of {', '.join(sorted({one.model for one in known}))}",
            received=model,
            remedy="Serve its SavedModel: tfattn serve.",
        )
    candidates.sort(key=lambda candidate: candidate.preprocessor != preprocessor)
    differences: dict[str, list[str]] = {}
    refusals: dict[str, list[str]] = {}
    for candidate in candidates:
        stated, _ = candidate.completed(arguments, {})
        config = {**candidate.config(stated), **special_ids}
        files.write_json(folder / CONFIG, config)
        reader = candidate.reader(folder)
        try:
            if not (found := differences_of(reader, stated)):
                return Counterpart(candidate, reader, config)
            differences[candidate.name] = found
        except CheckpointError as error:  # a value that the architecture does not have at all
            refusals[candidate.name] = [f"{error.received} ({error.expected})"]
    differences = differences or refusals
    nearest = min(differences, key=lambda name: len(differences[name]))
    raise ExportError(
        "the model has no counterpart in transformers",
        where=where,
        expected=f"the settings of a {nearest}, which is the most similar",
        received=listed(differences[nearest]),
        remedy="Train with the settings of that architecture, or serve the SavedModel: tfattn serve.",
    )


def tensors(
    counterpart: Counterpart, values: Mapping[str, np.ndarray], arguments: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Convert the weights of a model to the tensors of its counterpart; a pooler that it does not have is left out.

    Args:
        counterpart: the architecture.
        values: the weights, by path.
        arguments: all arguments of the model's constructor.

    Raises:
        ExportError: the architecture has no tensor for a weight.
    """
    found: dict[str, np.ndarray] = {}
    reader, architecture = counterpart.reader, counterpart.architecture
    arguments, values = architecture.completed(arguments, values)
    samples = architecture.sample_names(arguments) if architecture.sample_names else [architecture.prefix]
    for path, value in values.items():
        names = reader.stored_names(path, samples)
        if names[0].endswith(path):
            if path.startswith(POOLER):
                continue
            raise ExportError(
                "a weight has no counterpart in transformers",
                where=path,
                expected=f"a weight of a {architecture.name}",
            )
        for name, piece in zip(names, split(value, len(names), arguments), strict=True):
            found[name] = np.ascontiguousarray(reader.restore(name, piece))
    return found


def split(value: np.ndarray, pieces: int, arguments: Mapping[str, Any]) -> list[np.ndarray]:
    """Split a weight along its last axis into tensors: queries, keys and values, or pieces of equal width.

    Args:
        value: the weight.
        pieces: the number of tensors.
        arguments: all arguments of the model's constructor.
    """
    if pieces != 3:
        return np.split(value, pieces, axis=-1)
    heads = arguments["num_heads"]
    groups = arguments.get("num_key_value_heads") or heads
    unit = value.shape[-1] // (heads + 2 * groups)
    return np.split(value, [heads * unit, (heads + groups) * unit], axis=-1)


def differences_of(reader: Pretrained, arguments: Mapping[str, Any]) -> list[str]:
    """Describe the arguments of a model that a reader finds with other values, or does not find.

    Args:
        reader: the reader of a written folder or file.
        arguments: all arguments of the model's constructor.

    Raises:
        CheckpointError: the reader does not support a value.
    """
    stated = reader.stated_sizes() if isinstance(reader, PublishedGpt) else reader.sizes()
    default = defaults("models", reader.model)
    unused = {name for condition, names in ONLY_WITH.items() if not arguments.get(condition) for name in names}
    found = []
    for name, value in arguments.items():
        other = stated.get(name, default.get(name))
        if other is None:  # then the model derives it from its other arguments
            other = derived({**arguments, name: None})[name]
        if value is not None and name not in unused and name not in OF_TRAINING and not _equal(value, other):
            found.append(f"{name}: {value} (there {other})")
    return found


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, float) and isinstance(other, int | float):
        return math.isclose(value, other, rel_tol=1e-6)
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_equal(value[name], other[name]) for name in value)
    return value == other
