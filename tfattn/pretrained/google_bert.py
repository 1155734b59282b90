"""A checkpoint folder of google-research/bert: bert_config.json, bert_model.ckpt.*, vocab.txt."""

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.pretrained.bert import PublishedBert
from tfattn.pretrained.bert_names import ORIGINAL_SIZES, is_head_variable, original_names
from tfattn.pretrained.tensorflow_checkpoint import open_checkpoint

CONFIG, WEIGHTS, VOCABULARY = "bert_config.json", "bert_model.ckpt", "vocab.txt"

# gelu in the released code is the tanh approximation.
ACTIVATIONS = {"gelu": "gelu_approximate", "relu": "relu"}


class GoogleBert(PublishedBert):
    """Weights of google-research/bert: a TensorFlow 1 checkpoint, read by tensors without a graph."""

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

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        with self._reader() as reader:
            shapes = reader.get_variable_to_shape_map()
        return {name: tuple(shape) for name, shape in shapes.items()}

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        return tuple(name if is_head_variable(path) else f"bert/{name}" for name in original_names(path))

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        with self._reader() as reader:
            tensors = {name: reader.get_tensor(name) for name in names}
        # output_weights has (outputs, inputs), unlike all other matrices.
        return {name: value.T if name.endswith("output_weights") else value for name, value in tensors.items()}

    def _reader(self) -> AbstractContextManager[Any]:
        self._existing(f"{WEIGHTS}.index")
        return open_checkpoint(self.folder / WEIGHTS)
