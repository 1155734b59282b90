"""A BERT preset folder of KerasHub: config.json, model.weights.h5, assets/tokenizer/vocabulary.txt."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tfattn.errors import CheckpointError
from tfattn.pretrained.contract import Pretrained, is_lower_case, read_json
from tfattn.pretrained.names import is_of_head

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.weights.h5", "tokenizer.json"
VOCABULARY = "assets/tokenizer/vocabulary.txt"

SIZES = (
    "vocabulary_size",
    "hidden_dim",
    "num_layers",
    "num_heads",
    "intermediate_dim",
    "max_sequence_length",
    "num_segments",
    "dropout",
)

# Our layers and KerasHub's, which are named after their classes.
OUTER = {
    "embeddings/token": "reversible_embedding",
    "embeddings/position": "position_embedding",
    "embeddings/segment": "embedding",
    "embeddings/norm": "layer_normalization",
    "pooler/dense": "dense",
}
BLOCK = {
    "attention/output": "_self_attention_layer/output_dense",
    "attention_norm": "_self_attention_layer_norm",
    "feed_forward/intermediate": "_feedforward_intermediate_dense",
    "feed_forward/output": "_feedforward_output_dense",
    "feed_forward_norm": "_feedforward_layer_norm",
}
ORDER = {"embeddings": 0, "kernel": 0, "gamma": 0, "bias": 1, "beta": 1}


class KerasHubBert(Pretrained):
    """Weights as `save_to_preset` of KerasHub's BertBackbone writes them.

    The .h5 file is read as plain arrays; it is not loaded as a Keras model, which could run code.
    """

    looks_like = f"{CONFIG} of a BertBackbone, {WEIGHTS} and {VOCABULARY} (KerasHub)"
    weights = (WEIGHTS,)

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("class_name") == "BertBackbone"

    def sizes(self) -> dict[str, Any]:
        config = self._setting(self._json(CONFIG), "config", CONFIG)
        sizes = {name: self._setting(config, name, CONFIG) for name in SIZES}
        # BertBackbone has no arguments for these.
        return {**sizes, "activation": "gelu_approximate", "layer_norm_epsilon": 1e-12}

    @property
    def vocabulary(self) -> Path:
        return self._existing(VOCABULARY)

    @property
    def lower_case(self) -> bool:
        config = self._json(TOKENIZER).get("config", {}) if (self.folder / TOKENIZER).is_file() else {}
        return bool(config["lowercase"]) if "lowercase" in config else is_lower_case(self.vocabulary)

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = {}

        def visit(name: str, item: Any) -> None:
            # A virtual or external dataset names another file to read from.
            if isinstance(item, h5py.Dataset) and not item.is_virtual and not item.external:
                shapes[name] = item.shape

        with self._open() as file:
            file.visititems(visit)
        return shapes

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        if is_of_head(path):
            return (path,)  # a backbone has none
        layer, _, kind = path.rpartition("/")
        if layer in OUTER:
            return (f"layers/{OUTER[layer]}/vars/{ORDER[kind]}",)
        room, _, part = layer.partition("/")
        index = int(room.removeprefix("block_"))
        block = f"layers/transformer_encoder{f'_{index}' if index else ''}"
        if part == "attention/qkv":
            names = ("query_dense", "key_dense", "value_dense")
            return tuple(f"{block}/_self_attention_layer/{name}/vars/{ORDER[kind]}" for name in names)
        return (f"{block}/{BLOCK[part]}/vars/{ORDER[kind]}",)

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        try:
            with self._open() as file:
                return {name: _merge_heads(name, np.asarray(file[name])) for name in names}
        except OSError as error:
            raise self._unreadable(error) from None

    def _open(self) -> h5py.File:
        path = self._existing(WEIGHTS)
        try:
            return h5py.File(path, "r")
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> CheckpointError:
        return CheckpointError(f"cannot be read as HDF5 ({error})", where=str(self.folder / WEIGHTS))


def _merge_heads(name: str, value: np.ndarray) -> np.ndarray:
    if "_self_attention_layer/" not in name:
        return value
    if value.ndim == 3 and "output_dense" in name:
        return value.reshape(-1, value.shape[-1])  # (H, K, D) -> (D, D)
    if value.ndim == 3:
        return value.reshape(value.shape[0], -1)  # (D, H, K) -> (D, D)
    return value.reshape(-1)  # (H, K) -> (D,)
