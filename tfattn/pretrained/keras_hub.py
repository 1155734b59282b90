"""A BERT preset folder of KerasHub: config.json, model.weights.h5, assets/tokenizer/vocabulary.txt."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.pretrained import hdf5_file
from tfattn.pretrained.bert import PublishedBert
from tfattn.pretrained.bert_names import is_of_head
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.hdf5_file import WEIGHTS

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
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


class KerasHubBert(PublishedBert):
    """Weights as `save_to_preset` of KerasHub's BertBackbone writes them."""

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
        return bool(config["lowercase"]) if "lowercase" in config else super().lower_case

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        return hdf5_file.shapes(self.folder)

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
        return {name: _merge_heads(name, value) for name, value in hdf5_file.arrays(self.folder, names).items()}


def _merge_heads(name: str, value: np.ndarray) -> np.ndarray:
    if "_self_attention_layer/" not in name:
        return value
    if value.ndim == 3 and "output_dense" in name:
        return value.reshape(-1, value.shape[-1])  # (H, K, D) -> (D, D)
    if value.ndim == 3:
        return value.reshape(value.shape[0], -1)  # (D, H, K) -> (D, D)
    return value.reshape(-1)  # (H, K) -> (D,)
