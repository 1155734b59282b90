"""A published ELMo: options.json and weights.hdf5, in the layout of AllenNLP."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError
from tfattn.pretrained.contract import Pretrained, read_json
from tfattn.pretrained.tensor_files import Hdf5File

OPTIONS, WEIGHTS = "options.json", "weights.hdf5"
MAX_CHARACTERS = 50  # per word, as in preprocessing/spelling.py, which imports TensorFlow
MAX_SENTENCE_LENGTH = 512  # words; only memory limits it
CHARACTERS = "char_embed"
CELL = "RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
DIRECTIONS = {"forward": 0, "backward": 1}

# Weights of an LSTM in the model and in AllenNLP, which concatenates input and recurrent kernels.
LSTM = {"kernel": "W_0[inputs]", "recurrent_kernel": "W_0[states]", "bias": "B", "projection": "W_P_0"}
HIGHWAY = {"transform": "transform", "gate": "carry"}
PARAMETERS = {"kernel": "W", "bias": "b"}


class AllenNlpElmo(Pretrained):
    """Weights as published by AllenNLP and bilm-tf.

    Their gates have another order, 1 is added to the bias of forget gates at run time, and the padding character 0 has
    no row.
    """

    description = f"{OPTIONS} with `char_cnn` and {WEIGHTS} (ELMo of AllenNLP)"
    weights = (WEIGHTS, OPTIONS)
    model = "elmo"
    preprocessor = "spelled_words"

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / OPTIONS).is_file() and "char_cnn" in read_json(folder / OPTIONS)

    def sizes(self) -> dict[str, Any]:
        options = self._json(OPTIONS)
        lstm, words = (self._setting(options, name, OPTIONS) for name in ("lstm", "char_cnn"))
        max_characters = self._setting(words, "max_characters_per_token", OPTIONS)
        if max_characters != MAX_CHARACTERS:
            raise CheckpointError(
                "words have another number of characters",
                where=str(self.folder / OPTIONS),
                expected=f"max_characters_per_token {MAX_CHARACTERS}",
                received=str(max_characters),
            )
        if not lstm.get("use_skip_connections", False):
            raise CheckpointError(
                "not supported", where=str(self.folder / OPTIONS), expected="use_skip_connections", received="none"
            )
        return {
            "hidden_dim": 2 * self._setting(lstm, "projection_dim", OPTIONS),
            "cell_dim": self._setting(lstm, "dim", OPTIONS),
            "num_layers": self._setting(lstm, "n_layers", OPTIONS),
            "character_dim": self._setting(words, "embedding", OPTIONS)["dim"],
            "filters": [list(pair) for pair in self._setting(words, "filters", OPTIONS)],
            "num_highways": self._setting(words, "n_highway", OPTIONS),
            "activation": self._setting(words, "activation", OPTIONS, {"relu": "relu", "tanh": "tanh"}),
            "cell_clip": lstm.get("cell_clip"),
            "projection_clip": lstm.get("proj_clip"),
        }

    def tokenization(self) -> dict[str, Any]:
        return {}  # character-based models have no vocabulary

    @property
    def max_length(self) -> int:
        return MAX_SENTENCE_LENGTH

    @property
    def tensor_file(self) -> Hdf5File:
        return Hdf5File(self.folder / WEIGHTS)

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        """Read the shapes of the tensors, and of both parts of concatenated kernels."""
        found = {}
        for name, shape in self.tensor_file.shapes().items():
            if name.endswith("/W_0"):
                width = shape[0] // 2
                found |= {f"{name}[inputs]": (width, shape[1]), f"{name}[states]": (shape[0] - width, shape[1])}
            else:
                found[name] = shape
        return found

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        if path == "words/characters/embeddings":
            return (CHARACTERS,)
        if found := re.fullmatch(r"words/(kernel|bias)_(\d+)", path):
            return (f"CNN/{PARAMETERS[found[1]]}_cnn_{found[2]}",)
        if found := re.fullmatch(r"words/highway_(\d+)/(transform|gate)/(kernel|bias)", path):
            return (f"CNN_high_{found[1]}/{PARAMETERS[found[3]]}_{HIGHWAY[found[2]]}",)
        if found := re.fullmatch(r"words/projection/(kernel|bias)", path):
            return (f"CNN_proj/{PARAMETERS[found[1]]}_proj",)
        if found := re.fullmatch(r"lstm_(\d+)/(forward|backward)_(\w+)", path):
            cell = CELL.format(direction=DIRECTIONS[found[2]], layer=found[1])
            return (f"{cell}/{LSTM[found[3]]}",)
        return (path,)  # not in the file, such as the pooler

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        names = list(names)
        arrays = self.tensor_file.read({name.partition("[")[0] for name in names})
        return {name: _convert(name, arrays[name.partition("[")[0]]) for name in names}


def _convert(name: str, value: np.ndarray) -> np.ndarray:
    """Convert a tensor to the layout of the variable."""
    if name == CHARACTERS:
        return np.concatenate([np.zeros_like(value[:1]), value])
    if re.fullmatch(r"CNN/W_cnn_\d+", name):
        return value[0]  # (1, width, C, F), a 2D convolution
    last = name.rpartition("/")[2]
    if last == "W_0[inputs]":
        return _reorder_gates(value[: len(value) // 2])
    if last == "W_0[states]":
        return _reorder_gates(value[len(value) // 2 :])
    if last == "B":
        i, f, g, o = np.split(_reorder_gates(value), 4)
        return np.concatenate([i, f + 1, g, o])
    return value


def _reorder_gates(value: np.ndarray) -> np.ndarray:
    """Reorder gates: i, g, f, o become i, f, g, o."""
    i, g, f, o = np.split(value, 4, axis=-1)
    return np.concatenate([i, f, g, o], axis=-1)
