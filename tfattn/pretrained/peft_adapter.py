"""Folders of the package `peft`: adapter_config.json and adapter_model.safetensors of a low-rank adapter."""

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files, hub
from tfattn.config.types import GATED_ACTIVATIONS
from tfattn.errors import CheckpointError, ConfigError, listed
from tfattn.pretrained import (
    decoder_architectures,
    encoder_architectures,
    hugging_face_dinov2,
    hugging_face_marian,
    hugging_face_t5,
)
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.hugging_face_vit import NAMES as VIT_NAMES

CONFIG, WEIGHTS, PICKLED = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
PREFIX, FIRST, SECOND = "base_model.model.", ".lora_A.weight", ".lora_B.weight"
# Settings whose other values change what the adapter computes.
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "use_dora": (False, None),
    "bias": ("none",),
    "lora_bias": (False, None),
    "layers_to_transform": (None,),
    "layer_replication": (None,),
    "trainable_token_indices": (None,),
    "target_parameters": (None, []),
    "init_lora_weights": (True, False, "gaussian", "orthogonal", "eva"),
}
# The maps of a projection by the end of its path.
_MAPS = {
    "qkv": ("query", "key", "value"),
    "attention/query": ("query",),
    "key_value": ("key", "value"),
    "attention/output": ("attention_output",),
    "feed_forward/output": ("feed_forward_output",),
}
# The names of modules where transformers has no such architecture: the path of the projection and the name of the map.
_OWN = {
    **{path: tuple(f"{path.replace('/', '.')}.{name}" for name in maps) for path, maps in _MAPS.items()},
    "feed_forward/intermediate": ("feed_forward.intermediate.gate", "feed_forward.intermediate.intermediate"),
}


class PeftAdapter:
    """A low-rank adapter that the package `peft` has saved.

    Args:
        folder: its folder.
        snapshot: the files on a hub that are read; None for a local folder.

    Raises:
        CheckpointError: the folder has no such adapter, or its settings are not supported.
    """

    def __init__(self, folder: Path, snapshot: hub.Snapshot | None = None):
        self.folder = folder
        self.snapshot = snapshot
        if not (folder / CONFIG).is_file():
            raise CheckpointError(
                "the folder is not an adapter of the package peft",
                where=str(folder),
                expected=f"{CONFIG} and {WEIGHTS}",
                received=listed(sorted(path.name for path in folder.iterdir()), 5) or "an empty folder",
            )
        self.config = read_json(folder / CONFIG)
        for name, supported in _SUPPORTED.items():
            if self.config.get(name, supported[0]) not in supported:
                raise CheckpointError(
                    "the adapter is not supported",
                    where=str(folder / CONFIG),
                    expected=f"{name} to be {supported[0]}",
                    received=str(self.config[name])[:60],
                )

    @property
    def address(self) -> str:
        """The folder, or the address on a hub with the revision that is read."""
        return str(self.folder if self.snapshot is None else self.snapshot.address)

    @property
    def base(self) -> str | None:
        """The name of the base model, as the adapter states it."""
        return self.config.get("base_model_name_or_path")

    @property
    def rank(self) -> int:
        """The rank of the adapter."""
        return self._number("r", int)

    @property
    def alpha(self) -> float:
        """Alpha, so that the scale is alpha / rank."""
        alpha = self._number("lora_alpha", float)
        return alpha * math.sqrt(self.rank) if self.config.get("use_rslora") else alpha

    def arguments(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `Lora`.

        Args:
            model: the section of the model that the adapter is for, with its `name` and sizes.

        Raises:
            CheckpointError: the adapter is for another model.
        """
        return {
            "rank": self.rank,
            "alpha": self.alpha,
            "targets": self._targets(model["name"], str(model.get("activation"))),
            "dropout": float(self.config.get("lora_dropout", 0.0)),
        }

    @cached_property
    def tensors(self) -> dict[str, np.ndarray]:
        """The tensors by name, without the prefix of PEFT.

        Raises:
            CheckpointError: the file is missing or damaged.
        """
        import ml_dtypes  # noqa: F401, I001 (registers bfloat16 in NumPy)
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        path = self._weights
        try:
            found = load_file(path)
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"cannot be read as safetensors ({error})", where=str(path)) from None
        return {name.removeprefix(PREFIX): np.asarray(value, "float32") for name, value in found.items()}

    @cached_property
    def modules(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The factors A (r, D) and B (F, r) of each module, by its name in transformers."""
        names = [name.removesuffix(FIRST) for name in self.tensors if name.endswith(FIRST)]
        if not names or any(name + SECOND not in self.tensors for name in names):
            raise CheckpointError(
                "the file has no low-rank matrices",
                where=str(self._weights),
                expected=f"tensors {PREFIX}MODULE{FIRST} and {SECOND}",
                received=listed(list(self.tensors), 3) or "no tensors",
            )
        return {name: (self.tensors[name + FIRST], self.tensors[name + SECOND]) for name in names}

    def fingerprint(self) -> str:
        """Return a digest of both files."""
        return files.digest(self._digests)

    @property
    def origin(self) -> dict[str, Any]:
        """The source of the adapter for the card of an export; see `Pretrained.origin`."""
        license = None if self.snapshot is None else self.snapshot.license
        return {"from": self.address, "license": license, "sha256": self._digests}

    @property
    def _digests(self) -> dict[str, str]:
        return {path.name: files.sha256(path) for path in (self.folder / CONFIG, self._weights)}

    @property
    def _weights(self) -> Path:
        if self.snapshot is not None:
            self.snapshot.fetch_weights()
        path = self.folder / WEIGHTS
        if not path.is_file():
            is_pickled = (self.folder / PICKLED).is_file()
            raise CheckpointError(
                "a file is missing",
                where=str(self.folder),
                expected=WEIGHTS,
                received=PICKLED if is_pickled else "",
                remedy="Pickled weights can run code and are never read; save the adapter again with peft: "
                "model.save_pretrained(folder, safe_serialization=True)."
                if is_pickled
                else "",
            )
        return path

    def _number(self, name: str, kind: type) -> Any:
        value = self.config.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0 or value != kind(value):
            raise CheckpointError(
                "wrong value",
                where=f"{self.folder / CONFIG}: {name}",
                expected="a number above 0",
                received=repr(value)[:60],
            )
        return kind(value)

    def _targets(self, model: str, activation: str) -> list[str]:
        """Return the targets of `Lora` for all modules: of the architecture that has all of them."""
        unknown: list[str] = []
        for parts in _architectures(model):
            found = {name: _maps_of(name, parts, activation) for name in self.modules}
            if all(found.values()):
                return list(dict.fromkeys(target for targets in found.values() for target in targets))
            others = [name for name, targets in found.items() if not targets]
            unknown = min((unknown or others), others, key=len)
        raise CheckpointError(
            "the adapter is for another model",
            where=self.address,
            expected=f"attention and feed-forward layers of a `{model}`",
            received=listed(unknown, 3),
            remedy=f"Set `model.pretrained` to the base of the adapter: {self.base or 'unknown'}.",
        )


def open(source: str | Path) -> PeftAdapter:  # noqa: A001 (read as peft_adapter.open)
    """Open an adapter of the package `peft`.

    Args:
        source: a folder, or an address hf://OWNER/NAME.

    Raises:
        ConfigError: there is no such folder.
        CheckpointError: the folder has no adapter, or its settings are not supported.
        HubError: the hub cannot be reached, or a file on it is damaged.
    """
    if hub.is_address(str(source)):
        snapshot = hub.open(str(source))
        return PeftAdapter(snapshot.path, snapshot)
    folder = Path(source)
    if not folder.is_dir():
        raise ConfigError(
            "no such adapter",
            key="from",
            expected=f"a folder with {CONFIG} and {WEIGHTS}, or hf://OWNER/NAME",
            received=str(source),
            remedy=files.similar_path(folder),
        )
    return PeftAdapter(folder)


def _architectures(model: str) -> Iterator[Mapping[str, tuple[str, ...]]]:
    """Yield the names of modules of each architecture of a model, by the path of the projection in a block."""
    for table in encoder_architectures.ARCHITECTURES.values():
        if table.model == model:
            yield table.names.parts
    if model == "gpt":
        for decoder in decoder_architectures.ARCHITECTURES.values():
            yield decoder.names.parts
    if model == "vit":
        for parts in ({}, hugging_face_dinov2.FEED_FORWARD, hugging_face_dinov2.GATED_FEED_FORWARD):
            yield {**VIT_NAMES.parts, **parts}
    if model == "transformer":
        yield {path: names for part in hugging_face_marian.NAMES for path, names in part.parts.items()}
        for is_gated in (False, True):
            sides = hugging_face_t5.names(is_gated=is_gated)
            # Feed-forward layers have other numbers in the decoder.
            parts = [(f"{side}/{path}", names) for side, part in enumerate(sides) for path, names in part.parts.items()]
            yield dict(parts)
    yield _OWN


def _maps_of(module: str, parts: Mapping[str, tuple[str, ...]], activation: str) -> tuple[str, ...]:
    """Return the maps that a module of transformers computes; empty if it is no projection of the architecture."""
    matches = [
        (len(name), path, index, len(names))
        for path, names in parts.items()
        for index, name in enumerate(names)
        if f".{module}".endswith(f".{name}")
    ]
    if not matches:
        return ()
    _, path, index, count = max(matches)
    maps = next((maps for end, maps in _MAPS.items() if path.endswith(end)), ())
    if path.endswith("feed_forward/intermediate"):
        maps = ("gate", "intermediate") if activation in GATED_ACTIVATIONS else ("intermediate",)
    return (maps[index],) if count == len(maps) else maps
