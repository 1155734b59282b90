"""Folders of Hugging Face: config.json and model.safetensors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tfattn.errors import CheckpointError
from tfattn.pretrained.contract import Pretrained, read_json
from tfattn.pretrained.tensor_files import SAFETENSORS, SAFETENSORS_INDEX, SafetensorsFile

CONFIG = "config.json"
TOKENIZER, SETTINGS, WORDS = "tokenizer.json", "tokenizer_config.json", "vocab.txt"
SENTENCEPIECE = ("sentencepiece.bpe.model",)

Settings = Mapping[str, Any]

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_approximate",
    "gelu_pytorch_tanh": "gelu_approximate",
    "relu": "relu",
}


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """An architecture of transformers: how config.json states the arguments of a model.

    Args:
        prefix: the prefix of all tensors except those of the head, in a model with a head.
        keys: the key of config.json for arguments of the model.
        activation: the key of the activation.
        activations: the activation of the model by its name in config.json.
        defaults: the values of keys that config.json may leave out.
        only: the only supported value of keys, or a tuple of them.
        options: functions of config.json that return further arguments of the model.
        fixed: arguments of the model that are the same in all files.
    """

    prefix: str
    keys: Mapping[str, str]
    activation: str = "hidden_act"
    activations: Mapping[str, str] = field(default_factory=lambda: ACTIVATIONS)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    only: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[Callable[[Settings], dict[str, Any]], ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)


class HuggingFaceFolder(Pretrained):
    """Weights as transformers saves a model, alone or inside a model with a head.

    Attributes:
        model_types: the architectures in config.json.
    """

    weights = (SAFETENSORS, SAFETENSORS_INDEX, "model-*.safetensors")
    model_types: tuple[str, ...]

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("model_type") in cls.model_types

    @property
    def tensor_file(self) -> SafetensorsFile:
        return SafetensorsFile(self.folder)

    def stated_arguments(self, architecture: Architecture) -> dict[str, Any]:
        """Read the arguments of the model that single keys of config.json state."""
        config = {**architecture.defaults, **self._config}
        self._require_defaults(config, architecture.only, CONFIG)
        found = {ours: self._setting(config, theirs, CONFIG) for ours, theirs in architecture.keys.items()}
        activation = self._setting(config, architecture.activation, CONFIG, architecture.activations)
        return {**found, "activation": activation}

    def further_arguments(self, architecture: Architecture) -> dict[str, Any]:
        """Return the arguments of the model that follow from several keys, or from the architecture alone."""
        found: dict[str, Any] = {}
        try:
            for options in architecture.options:
                found |= options({**architecture.defaults, **self._config})
        except CheckpointError as error:
            error.where = error.where or str(self.folder / CONFIG)
            raise
        return found | dict(architecture.fixed)

    @cached_property
    def _config(self) -> dict[str, Any]:
        return self._json(CONFIG)


def tokenizer_settings(folder: Path) -> Settings:
    """Read the settings of a tokenizer, if the folder has them."""
    return read_json(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}


def has_wordpiece(folder: Path) -> bool:
    """Return whether the tokenizer of a folder is BERT's, or missing."""
    if (folder / WORDS).is_file():
        return True
    if (folder / TOKENIZER).is_file():
        return (read_json(folder / TOKENIZER).get("model") or {}).get("type", "WordPiece") == "WordPiece"
    return not (folder / SENTENCEPIECE[0]).is_file()
