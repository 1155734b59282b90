"""A checkpoint folder of google-research/bert: bert_config.json, bert_model.ckpt.*, vocab.txt."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.pretrained.bert import ORIGINAL_SIZES, PublishedBert, is_head_variable, original_names
from tfattn.pretrained.tensor_files import TensorFlowCheckpoint

CONFIG, WEIGHTS, VOCABULARY = "bert_config.json", "bert_model.ckpt", "vocab.txt"

# gelu in the released code is the tanh approximation.
ACTIVATIONS = {"gelu": "gelu_approximate", "relu": "relu"}


class GoogleBert(PublishedBert):
    """Weights of google-research/bert: a TensorFlow 1 checkpoint."""

    description = f"{CONFIG}, {WEIGHTS}.index and {VOCABULARY} (google-research/bert)"
    weights = (f"{WEIGHTS}.index", f"{WEIGHTS}.data-*")

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file()

    def sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        sizes = {ours: self._setting(config, theirs, CONFIG) for ours, theirs in ORIGINAL_SIZES.items()}
        activation = self._setting(config, "hidden_act", CONFIG, ACTIVATIONS)
        return {**sizes, "layer_norm_epsilon": 1e-12, "activation": activation}

    @property
    def vocabulary(self) -> Path:
        return self._existing(VOCABULARY)

    @property
    def tensor_file(self) -> TensorFlowCheckpoint:
        return TensorFlowCheckpoint(self.folder / WEIGHTS)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        return tuple(name if is_head_variable(path) else f"bert/{name}" for name in original_names(path))

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        return value.T if name.endswith("output_weights") else value  # (outputs, inputs), unlike all other matrices
