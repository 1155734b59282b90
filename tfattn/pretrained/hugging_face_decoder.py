"""Decoder folders of Hugging Face: config.json, model.safetensors in one or several files, and a tokenizer."""

import re
from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError, listed
from tfattn.pretrained.decoder_architectures import ARCHITECTURES, DecoderArchitecture
from tfattn.pretrained.gpt import PublishedGpt
from tfattn.pretrained.hugging_face import CONFIG, HuggingFaceFolder
from tfattn.pretrained.hugging_face_tokens import read_tokens
from tfattn.pretrained.tensor_files import SAFETENSORS
from tfattn.pretrained.tokenization import Tokenization

# Tensors in blocks that are no weights: masks and angles, which some versions saved.
_BUFFERS = re.compile(r"\.(masked_bias|inv_freq|attn\.bias|attention\.bias)$")
# Quantized weights have other tensors and another layout.
_ALWAYS = {"quantization_config": None}


class HuggingFaceDecoder(HuggingFaceFolder, PublishedGpt):
    """Weights as transformers saves a decoder, with or without the language modeling head."""

    description = f"{CONFIG} with model_type {', '.join(ARCHITECTURES)}; {SAFETENSORS} and a tokenizer (Hugging Face)"
    model_types = tuple(ARCHITECTURES)

    @property
    def preprocessor(self) -> str:
        return self._tokens.preprocessor

    def tokenization(self) -> dict[str, Any]:
        return self._tokens.arguments

    def stated_sizes(self) -> dict[str, Any]:
        self._require_defaults(self._config, _ALWAYS, CONFIG)
        sizes = self.stated_arguments(self._architecture)
        self.check_values(sizes)
        sizes["num_key_value_heads"] = sizes["num_key_value_heads"] or sizes["num_heads"]
        sizes["intermediate_dim"] = sizes["intermediate_dim"] or 4 * sizes["hidden_dim"]
        return sizes | self.further_arguments(self._architecture)

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = super().stored_shapes()
        architecture = self._architecture
        prefix = self._prefix(shapes)
        block = re.compile(re.escape(prefix + architecture.names.block).replace(r"\{\}", r"\d+"))
        parts = "|".join(re.escape(name) for names in architecture.names.parts.values() for name in names)
        known = re.compile(rf"{block.pattern}({parts})\.(weight|bias)")
        others = [name for name in shapes if block.match(name) and not known.fullmatch(name)]
        if others := [name for name in others if not _BUFFERS.search(name)]:
            raise CheckpointError(
                "the layers have tensors of another architecture",
                where=str(self.folder),
                expected=f"those of {self._config['model_type']}",
                received=listed(others, 5),
            )
        return shapes

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        names = self._architecture.names.tensor_names(path)
        prefix = "" if names == (path,) or path.startswith("output/") else self._prefix(stored)
        return tuple(prefix + name for name in names)

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        architecture = self._architecture
        if architecture.heads_first and ".query_key_value." in name:
            heads = self._config["num_attention_heads"]
            parts = value.reshape(heads, 3, -1, *value.shape[1:])
            value = parts.swapaxes(0, 1).reshape(value.shape)
        if architecture.norm_offset and name.endswith("norm.weight"):
            return value.astype("float32") + architecture.norm_offset
        is_table = any(name.endswith(f"{table}.weight") for table in architecture.names.outer.values())
        # PyTorch linear layers have (outputs, inputs).
        return value.T if architecture.transposed and value.ndim == 2 and not is_table else value

    def restore(self, name: str, value: np.ndarray) -> np.ndarray:
        architecture = self._architecture
        if architecture.norm_offset and name.endswith("norm.weight"):
            return value - np.float32(architecture.norm_offset)
        if architecture.heads_first and ".query_key_value." in name:
            parts = value.T.reshape(3, self._config["num_attention_heads"], -1, *value.shape[:-1])
            return parts.swapaxes(0, 1).reshape(value.T.shape)
        return self.convert(name, value)

    @property
    def _architecture(self) -> DecoderArchitecture:
        return ARCHITECTURES[self._config["model_type"]]

    @cached_property
    def _tokens(self) -> Tokenization:
        size = self._setting(self._config, self._architecture.keys["vocabulary_size"], CONFIG)
        return read_tokens(self.folder, self._config, size=size)

    def _prefix(self, stored: Collection[str]) -> str:
        prefix = self._architecture.prefix
        return prefix if any(name.startswith(prefix) for name in stored) else ""
