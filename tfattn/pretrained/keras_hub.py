"""A BERT preset folder of KerasHub: config.json, model.weights.h5, assets/tokenizer/vocabulary.txt."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.pretrained import hdf5_file
from tfattn.pretrained.bert import PublishedBert
from tfattn.pretrained.bert_names import is_head_variable
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.hdf5_file import WEIGHTS
from tfattn.pretrained.keras_hub_layers import merge_heads, stored_names

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

# Layers of the model and of KerasHub.
OUTER = {
    "embeddings/token": "reversible_embedding",
    "embeddings/position": "position_embedding",
    "embeddings/segment": "embedding",
    "embeddings/norm": "layer_normalization",
    "pooler/dense": "dense",
}


class KerasHubBert(PublishedBert):
    """Weights as `save_to_preset` of KerasHub's BertBackbone writes them."""

    description = f"{CONFIG} of a BertBackbone, {WEIGHTS} and {VOCABULARY} (KerasHub)"
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
        if is_head_variable(path):
            return (path,)  # a backbone has no heads
        return stored_names(path, outer=OUTER, block="transformer_encoder")

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        return {name: merge_heads(name, value) for name, value in hdf5_file.arrays(self.folder, names).items()}
