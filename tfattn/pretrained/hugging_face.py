"""A BERT folder of Hugging Face: config.json, model.safetensors, vocab.txt."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.pretrained import safetensors_file
from tfattn.pretrained.bert import PublishedBert
from tfattn.pretrained.bert_names import ORIGINAL_SIZES, is_head_variable, original_names
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.safetensors_file import WEIGHTS

CONFIG, VOCABULARY, TOKENIZER = "config.json", "vocab.txt", "tokenizer_config.json"

SIZES = {**ORIGINAL_SIZES, "layer_norm_epsilon": "layer_norm_eps"}

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_approximate",
    "gelu_pytorch_tanh": "gelu_approximate",
    "relu": "relu",
}


class HuggingFaceBert(PublishedBert):
    """Weights as transformers' BertModel saves them, alone or inside a model with a head (prefix `bert.`)."""

    description = f"{CONFIG} with model_type bert, {WEIGHTS} and {VOCABULARY} (Hugging Face)"
    weights = (WEIGHTS,)

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("model_type") == "bert"

    def sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        positions = {"position_embedding_type": "absolute", **config}
        self._setting(positions, "position_embedding_type", CONFIG, {"absolute": "absolute"})
        sizes = {ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()}
        return {**sizes, "activation": self._setting(config, "hidden_act", CONFIG, ACTIVATIONS)}

    @property
    def vocabulary(self) -> Path:
        return self._existing(VOCABULARY)

    @property
    def lower_case(self) -> bool:
        settings = self._tokenizer()
        return bool(settings["do_lower_case"]) if "do_lower_case" in settings else super().lower_case

    @property
    def strip_accents(self) -> bool | None:
        return self._tokenizer().get("strip_accents")

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        return safetensors_file.shapes(self.folder)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        is_inside = any(name.startswith("bert.") for name in stored) and not is_head_variable(path)
        prefix = "bert." if is_inside else ""
        # Older conversions keep TensorFlow's names of layer norm parameters.
        has_old_norms = any(name.endswith("LayerNorm.gamma") for name in stored)
        return tuple(prefix + _translate(name, has_old_norms) for name in original_names(path))

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        tensors = safetensors_file.tensors(self.folder, names)
        # PyTorch linear layers have (outputs, inputs).
        return {name: value.T if _is_linear(name) else value for name, value in tensors.items()}

    def _tokenizer(self) -> dict[str, Any]:
        return read_json(self.folder / TOKENIZER) if (self.folder / TOKENIZER).is_file() else {}


def _translate(original: str, has_old_norms: bool) -> str:
    name = re.sub(r"layer_(\d+)", r"layer.\1", original).replace("/", ".")
    if name.endswith("_embeddings"):
        return f"{name}.weight"
    if name.startswith("cls."):
        name = re.sub(r"output_weights$", "weight", re.sub(r"output_bias$", "bias", name))
    if not has_old_norms:
        name = re.sub(r"gamma$", "weight", re.sub(r"beta$", "bias", name))
    return re.sub(r"kernel$", "weight", name)


def _is_linear(name: str) -> bool:
    return name.endswith(".weight") and "LayerNorm" not in name and "_embeddings" not in name
