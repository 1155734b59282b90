"""Encoder folders of Hugging Face: config.json, model.safetensors, and a tokenizer."""

from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.pretrained.bert import PublishedBert
from tfattn.pretrained.encoder_architectures import ARCHITECTURES, PUBLISHED, WORDPIECE, EncoderArchitecture
from tfattn.pretrained.hugging_face import (
    CONFIG,
    SETTINGS,
    TOKENIZER,
    WORDS,
    HuggingFaceFolder,
    has_wordpiece,
    tokenizer_settings,
)
from tfattn.pretrained.tensor_files import SAFETENSORS

# Supported settings of tokenizers of BERT; others, such as BertJapaneseTokenizer, split texts otherwise.
_WORDPIECE_SETTINGS = {
    "tokenizer_class": (
        *("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast"),
        *("ElectraTokenizer", "ElectraTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend", None),
    ),
    "tokenize_chinese_chars": True,
}
# Layers whose tensor is a table of vectors, and not a linear map.
_TABLES = ("token", "position", "segment", "relative", "table")


class HuggingFaceEncoder(HuggingFaceFolder, PublishedBert):
    """Weights as transformers saves an encoder, alone or inside a model with a head."""

    description = f"{CONFIG} with model_type {', '.join(ARCHITECTURES)}; {SAFETENSORS} and a tokenizer (Hugging Face)"
    model_types = tuple(ARCHITECTURES)

    @property
    def model(self) -> str:
        return self._architecture.model

    @cached_property
    def preprocessor(self) -> str:
        is_other = self._architecture.preprocessor == WORDPIECE and not has_wordpiece(self.folder)
        return PUBLISHED if is_other else self._architecture.preprocessor

    def sizes(self) -> dict[str, Any]:
        sizes = self.stated_arguments(self._architecture)
        sizes["max_sequence_length"] -= self._architecture.skipped_positions
        return sizes | self.further_arguments(self._architecture)

    @property
    def vocabulary(self) -> Path:
        return self._existing(WORDS, TOKENIZER)

    @property
    def lower_case(self) -> bool:
        settings = tokenizer_settings(self.folder)
        return bool(settings["do_lower_case"]) if "do_lower_case" in settings else super().lower_case

    @property
    def strip_accents(self) -> bool | None:
        settings = tokenizer_settings(self.folder)
        return settings["strip_accents"] if "strip_accents" in settings else super().strip_accents

    def tokenization(self) -> dict[str, Any]:
        if self.preprocessor == WORDPIECE:
            self._require_defaults(tokenizer_settings(self.folder), _WORDPIECE_SETTINGS, SETTINGS)
            return super().tokenization()
        size = self._setting(self._config, "vocab_size", CONFIG)
        from tfattn.pretrained import tokenizer_files  # imports TensorFlow, which `tfattn check` does not need

        return tokenizer_files.published(self.folder, self._config["model_type"], size)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        architecture = self._architecture
        prefix = architecture.prefix if any(name.startswith(architecture.prefix) for name in stored) else ""
        layer, _, kind = path.rpartition("/")
        heads = [names for names in architecture.heads if layer in names]
        if not heads:
            names = [prefix + name for name in architecture.names.tensor_names(path)]
        else:
            suffix = "bias" if kind in ("bias", "beta") else "weight"
            found = [f"{names[layer]}.{suffix}" for names in heads]
            names = [next((name for name in found if name in stored), found[0])]
        return tuple(_as_stored(name, stored) for name in names)

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        table = self._table(name)
        if table == "position":
            return value[self._architecture.skipped_positions :]
        return value if value.ndim != 2 or table in _TABLES else value.T  # linear maps are (outputs, inputs)

    def restore(self, name: str, value: np.ndarray) -> np.ndarray:
        if self._table(name) != "position":
            return self.convert(name, value)
        return np.concatenate([np.zeros_like(value[: self._architecture.skipped_positions]), value])

    def _table(self, name: str) -> str:
        """Return the name of a tensor's layer outside of blocks."""
        architecture = self._architecture
        layers = {f"{tensor}.weight": layer for layer, tensor in architecture.names.outer.items()}
        return layers.get(name.removeprefix(architecture.prefix), "").rpartition("/")[2]

    @property
    def _architecture(self) -> EncoderArchitecture:
        return ARCHITECTURES[self._config["model_type"]]


def _as_stored(name: str, stored: Collection[str]) -> str:
    """Return the name of a tensor in older files, which have TensorFlow's names of norms, if the file has that name."""
    layer, _, kind = name.rpartition(".")
    older = f"{layer}.{'gamma' if kind == 'weight' else 'beta'}"
    return older if name not in stored and older in stored else name
