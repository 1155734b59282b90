"""A GPT-2 preset folder of KerasHub: config.json, model.weights.h5, vocabulary.json and merges.txt."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.pretrained import hdf5_file
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.gpt import PublishedGpt
from tfattn.pretrained.hdf5_file import WEIGHTS
from tfattn.pretrained.keras_hub_layers import merge_heads, stored_names

CONFIG, VOCABULARY = "config.json", "assets/tokenizer/vocabulary.json"
END_OF_TEXT = "<|endoftext|>"

SIZES = (
    "vocabulary_size",
    "hidden_dim",
    "num_layers",
    "num_heads",
    "intermediate_dim",
    "max_sequence_length",
    "dropout",
)
OUTER = {"token": "reversible_embedding", "position": "position_embedding", "norm": "layer_normalization"}


class KerasHubGpt2(PublishedGpt):
    """Weights as `save_to_preset` of KerasHub's GPT2Backbone writes them."""

    description = f"{CONFIG} of a GPT2Backbone, {WEIGHTS} and {VOCABULARY} (KerasHub)"
    weights = (WEIGHTS,)

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("class_name") == "GPT2Backbone"

    def stated_sizes(self) -> dict[str, Any]:
        config = self._setting(self._json(CONFIG), "config", CONFIG)
        sizes = {name: self._setting(config, name, CONFIG) for name in SIZES}
        # GPT2Backbone has no arguments for these.
        usual = {"positions": "learned", "activation": "gelu_approximate", "epsilon": 1e-5}
        return {**sizes, "num_key_value_heads": sizes["num_heads"], **usual}

    def tokenization(self) -> dict[str, Any]:
        vocabulary = ByteVocabulary.read(self._existing(VOCABULARY), special=[END_OF_TEXT])
        return {"vocabulary": vocabulary, "pattern": "gpt2", "end_token": END_OF_TEXT}

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        return hdf5_file.shapes(self.folder)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        return stored_names(path, outer=OUTER, block="transformer_decoder")

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        return {name: merge_heads(name, value) for name, value in hdf5_file.arrays(self.folder, names).items()}
