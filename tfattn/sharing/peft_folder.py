"""Adapters as folders of the package `peft`, which `PeftModel.from_pretrained` loads onto the base in transformers.

Modules have the names of the model's counterpart in transformers. Where transformers computes the queries, keys and
values of a layer by one module (GPT-2), the module has the matrices of all three: A next to each other, B as blocks.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file

from tfattn import console, files, hub
from tfattn.errors import CheckpointError, ExportError, listed
from tfattn.layers.adapters import adapters, projections
from tfattn.layers.lora import LowRankUpdate
from tfattn.layers.projection import Projection
from tfattn.pretrained.hugging_face import HuggingFaceFolder
from tfattn.pretrained.peft_adapter import CONFIG, FIRST, PREFIX, SECOND, WEIGHTS, PeftAdapter
from tfattn.sharing import counterparts, heads
from tfattn.sharing.architecture import Architecture

if TYPE_CHECKING:
    import keras

TASK_TYPES = {
    "chat": "CAUSAL_LM",
    "classification": "SEQ_CLS",
    "embedding": "FEATURE_EXTRACTION",
    "language_modeling": "CAUSAL_LM",
    "multi_label_classification": "SEQ_CLS",
    "preference_optimization": "CAUSAL_LM",
    "question_answering": "QUESTION_ANS",
    "regression": "SEQ_CLS",
    "token_classification": "TOKEN_CLS",
    "translation": "SEQ_2_SEQ_LM",
}


@dataclass(frozen=True)
class Adapted:
    """The model and the task of an adapter, as the configuration states them.

    Attributes:
        model: the catalog name of the model.
        arguments: all arguments of its constructor.
        preprocessor: the catalog name of the preprocessor.
        pretrained: the pretrained weights, a folder, a name or an address.
        task: the catalog name of the task.
        task_settings: the settings of the task that are plain values.
        targets: the facts about the training targets.
        folder: the run, for messages.
        values: the weights of the head, by path.
    """

    model: str
    arguments: Mapping[str, Any]
    preprocessor: str
    pretrained: str
    task: str = ""
    task_settings: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
    values: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """The labels in the order of their ids."""
        return list(self.targets.get("labels", ()))


def load(adapter: PeftAdapter, model: "keras.Model", adapted: Adapted) -> None:
    """Load the weights of an adapter into the adapter of a model.

    Args:
        adapter: the folder.
        model: the model, with a `Lora` of the settings of the folder.
        adapted: the configuration of the model.

    Raises:
        CheckpointError: a module is missing, unknown or of another shape: the adapter is for another base. The model
            is unchanged.
    """
    with _Modules.of(adapted) as modules:
        stored = [f"{name}.weight" for name in adapter.modules]
        wanted = {layer: modules.names(layer, stored) for layer in adapters(model)}
        names = [name for found in wanted.values() for name in found.values()]
        missing, unknown = sorted(set(names) - set(adapter.modules)), sorted(set(adapter.modules) - set(names))
        if missing or unknown:
            raise _other_base(adapter, f"modules such as {listed(missing or names, 3)}", listed(unknown, 3) or "others")
        values: list[tuple[Any, np.ndarray]] = []
        different = []
        for layer, found in wanted.items():
            for index, (first, second) in layer.adapter.factors.items():
                pair = modules.read(layer, index, found[index], adapter.modules[found[index]], adapter.rank)
                for variable, value in zip((first, second), pair, strict=True):
                    if value.shape != tuple(variable.shape):
                        different.append(f"{found[index]} {value.shape} for {tuple(variable.shape)}")
                    values.append((variable, value))
    if different:
        raise _other_base(adapter, "matrices of the model's widths", listed(different, 3))
    for variable, value in values:
        variable.assign(value)
    if adapter.base and Path(adapter.base).name not in adapted.pretrained:
        console.note(f"the adapter names another base, {adapter.base}; its shapes fit {adapted.pretrained}")
    console.note(f"adapter from {adapter.address}: {len(names)} modules of rank {adapter.rank}")


def write(model: "keras.Model", folder: Path, adapted: Adapted) -> None:
    """Write the adapter of a model, and the head on top of it, into an empty folder.

        adapter_model.safetensors   the matrices of each module, and the layers of the head
        adapter_config.json         rank, alpha, the names of the modules, the base

    Args:
        model: the model, with a `Lora`.
        folder: the folder.
        adapted: the configuration of the model.
    """
    layers = adapters(model)
    update: LowRankUpdate = next(iter(layers.values()))
    tensors: dict[str, np.ndarray] = {}
    ranks: dict[str, int] = {}
    with _Modules.of(adapted) as modules:
        for layer in layers:
            pairs = modules.restore(layer)
            ranks |= {name: len(first) for name, (first, _) in pairs.items() if len(first) != update.rank}
            for name, (first, second) in pairs.items():
                tensors |= {PREFIX + name + FIRST: first, PREFIX + name + SECOND: second}
        head, note = modules.head(adapted)
        chosen = [name.removeprefix(PREFIX).removesuffix(FIRST) for name in tensors if name.endswith(FIRST)]
        found = (modules.names(layer, (), all_maps=True).values() for layer in projections(model))
        everything = [name for names in found for name in names]
        transposed = all(modules.is_transposed(layer) for layer in layers)
    tensors |= {PREFIX + name: value for name, value in head.items()}
    save_file({name: np.ascontiguousarray(value, "float32") for name, value in tensors.items()}, folder / WEIGHTS)
    address = hub.parse(adapted.pretrained) if hub.is_address(adapted.pretrained) else None
    saved = sorted({name.rpartition(".")[0] for name in head})
    config = {
        "peft_type": "LORA",
        "task_type": TASK_TYPES.get(adapted.task),
        "base_model_name_or_path": getattr(address, "repository", adapted.pretrained),
        "revision": getattr(address, "revision", None),
        "r": update.rank,
        "lora_alpha": update.alpha,
        "lora_dropout": update.dropout,
        "target_modules": short_names(chosen, everything),
        "rank_pattern": ranks,
        "alpha_pattern": {name: update.scale * rank for name, rank in ranks.items()},
        "fan_in_fan_out": not transposed,
        "bias": "none",
        "modules_to_save": saved or None,
        "inference_mode": True,
    }
    files.write_text(folder / CONFIG, json.dumps(config, indent=2) + "\n")
    if note:
        console.note(note)


def short_names(chosen: Sequence[str], everything: Sequence[str]) -> list[str]:
    """Shorten names of modules to their part in a block, where it names no other module.

    Example:
        >>> short_names(["layer.0.attn.q", "layer.1.attn.q"], ["layer.0.attn.q", "layer.0.attn.k", "layer.1.attn.q"])
        ['attn.q']
    """
    shortened = {name: re.split(r"\.\d+\.", name)[-1] for name in chosen}
    is_clear = {
        short: all(name in shortened for name in everything if f".{name}".endswith(f".{short}"))
        for short in shortened.values()
    }
    return sorted({short if is_clear[short] else name for name, short in shortened.items()})


class _Modules:
    """The names of modules in transformers for projections; without a counterpart, names of our own."""

    def __init__(self, reader: HuggingFaceFolder | None, samples: Sequence[str], architecture: Architecture | None):
        self.reader = reader
        self.samples = samples
        self.architecture = architecture

    @classmethod
    @contextmanager
    def of(cls, adapted: Adapted) -> Iterator["_Modules"]:
        with tempfile.TemporaryDirectory() as folder:  # of the config.json of the counterpart
            try:
                found = counterparts.find(
                    adapted.model,
                    adapted.arguments,
                    Path(folder),
                    preprocessor=adapted.preprocessor,
                    where=str(adapted.folder),
                    special_ids={},
                )
            except ExportError:
                yield cls(None, (), None)
                return
            architecture = found.architecture
            names = architecture.sample_names
            samples = names(adapted.arguments) if names else [architecture.prefix]
            yield cls(found.reader, samples, architecture)

    def names(self, layer: Projection, stored: Sequence[str], *, all_maps: bool = False) -> dict[int, str]:
        """Return the module of each adapted map, or of all maps, by the index of the map.

        Args:
            layer: the projection.
            stored: the names of tensors of a file, which show the prefix of modules; empty for the names to write.
            all_maps: whether to include maps without an adapter.
        """
        path = _path(layer)
        indices = range(len(layer.maps)) if all_maps else layer.adapter.factors
        if self.reader is None:
            return {index: f"{path.replace('/', '.')}.{layer.targets[index]}" for index in indices}
        found = self.reader.stored_names(f"{path}/kernel", [*stored, *([] if stored else self.samples), *self._variant])
        modules = [name.removesuffix(".weight") for name in found]
        return {index: modules[index] if len(modules) > 1 else modules[0] for index in indices}

    @property
    def _variant(self) -> list[str]:
        """The samples that are no prefix: they show a variant of the architecture."""
        return [name for name in self.samples if name.startswith(".")]

    def is_transposed(self, layer: Projection) -> bool:
        """Return whether the kernel of the module is (outputs, inputs), as of a linear layer of PyTorch."""
        return self.reader is None or self._transposes(next(iter(self.names(layer, ()).values())), layer.units)

    def read(
        self, layer: Projection, index: int, name: str, pair: tuple[np.ndarray, np.ndarray], rank: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors (D, r) and (r, F) of a map from those of its module.

        Raises:
            CheckpointError: the factors do not fit together.
        """
        first, second = pair
        if first.ndim != 2 or second.ndim != 2 or second.shape[1] != len(first):
            received = f"{name}: A {first.shape}, B {second.shape}"
            raise CheckpointError("the matrices of a module do not fit together", received=received)
        second = self._converted(name, second)  # (F, r) -> (r, F)
        names = self.names(layer, [f"{name}.weight"])
        if len(layer.maps) > 1 and len(set(names.values())) == 1 and second.shape[1] == layer.units:
            start = sum(layer.maps[:index])
            second = second[:, start : start + layer.maps[index]]
            if len(first) > rank:  # written by tfattn: the rows of each map next to each other
                rows = slice(rank * list(names).index(index), rank * (list(names).index(index) + 1))
                first, second = first[rows], second[rows]
        return first.T, second

    def restore(self, layer: Projection) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the factors A (r, D) and B (F, r) of each module of a projection."""
        names, factors = self.names(layer, ()), layer.adapter.factors
        found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        arrays = {index: tuple(np.asarray(factor) for factor in pair) for index, pair in factors.items()}
        if len(layer.maps) == 1 or len(set(names.values())) == len(names) and not self._is_joint(layer):
            for index, (first, second) in arrays.items():
                found[names[index]] = first.T, self._restored(names[index], second)
            return found
        (name,) = set(names.values())
        second = np.zeros((sum(first.shape[1] for first, _ in arrays.values()), layer.units), "float32")
        for number, (index, (_, part)) in enumerate(arrays.items()):
            start, rank = sum(layer.maps[:index]), len(part)
            second[number * rank : (number + 1) * rank, start : start + layer.maps[index]] = part
        first = np.concatenate([first.T for first, _ in arrays.values()])
        return {name: (first, self._restored(name, second))}

    def head(self, adapted: Adapted) -> tuple[dict[str, np.ndarray], str]:
        """Return the tensors of the head of a task, and a note if transformers pools in another way."""
        if not adapted.values or self.architecture is None:
            return {}, ""
        try:
            found = heads.head_of(adapted, self.architecture).tensors
        except ExportError as error:
            kernel, bias = adapted.values[heads.KERNEL], adapted.values[heads.BIAS]
            note = f"the head of the adapter is for tfattn alone: {error.what} ({error.received})"
            return heads.linear("classifier", kernel, bias), note
        return found, ""

    def _is_joint(self, layer: Projection) -> bool:
        everything = self.names(layer, (), all_maps=True)
        return len(everything) > 1 and len(set(everything.values())) == 1

    def _converted(self, name: str, second: np.ndarray) -> np.ndarray:
        if self.reader is None or not self._transposes(name, len(second)):
            return second.T
        return self.reader.convert(f"{name}.weight", second)

    def _restored(self, name: str, second: np.ndarray) -> np.ndarray:
        if self.reader is None or not self._transposes(name, second.shape[1]):
            return second.T
        return self.reader.restore(f"{name}.weight", second)

    def _transposes(self, name: str, outputs: int) -> bool:
        return self.reader.convert(f"{name}.weight", np.zeros((outputs, outputs + 1))).shape[1] == outputs


def _path(layer: Projection) -> str:
    """Return the path of a projection below its model."""
    return layer.path.partition("/")[2]


def _other_base(adapter: PeftAdapter, expected: str, received: str) -> CheckpointError:
    return CheckpointError(
        "the adapter is for another base",
        where=adapter.address,
        expected=expected,
        received=received,
        remedy=f"Set `model.pretrained` to the base of the adapter: {adapter.base or 'unknown'}.",
    )
