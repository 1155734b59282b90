"""Preset folders of KerasHub, config.json and model.weights.h5, and those of BERT and GPT-2."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.preprocessing.byte_vocabulary import ByteVocabulary
from tfattn.pretrained.bert import PublishedBert, is_head_variable
from tfattn.pretrained.contract import Pretrained, read_json
from tfattn.pretrained.gpt import PublishedGpt
from tfattn.pretrained.tensor_files import KERAS_WEIGHTS, KerasHubWeights

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
BERT_VOCABULARY, GPT2_VOCABULARY = "assets/tokenizer/vocabulary.txt", "assets/tokenizer/vocabulary.json"
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

# Layers of the model and of KerasHub.
BERT_OUTER = {
    "embeddings/token": "reversible_embedding",
    "embeddings/position": "position_embedding",
    "embeddings/segment": "embedding",
    "embeddings/norm": "layer_normalization",
    "pooler/dense": "dense",
}
GPT2_OUTER = {"token": "reversible_embedding", "position": "position_embedding", "norm": "layer_normalization"}
BLOCK = {
    "attention/output": "_self_attention_layer/output_dense",
    "attention_norm": "_self_attention_layer_norm",
    "feed_forward/intermediate": "_feedforward_intermediate_dense",
    "feed_forward/output": "_feedforward_output_dense",
    "feed_forward_norm": "_feedforward_layer_norm",
}
ORDER = {"embeddings": 0, "kernel": 0, "gamma": 0, "bias": 1, "beta": 1}


class KerasHubPreset(Pretrained):
    """Weights as `save_to_preset` of a KerasHub backbone writes them.

    Attributes:
        backbone: the name of the backbone's class.
    """

    weights = (KERAS_WEIGHTS, "model_*.weights.h5")
    backbone: str

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("class_name") == cls.backbone

    @property
    def config(self) -> dict[str, Any]:
        """The arguments of the backbone's constructor."""
        return self._setting(self._json(CONFIG), "config", CONFIG)

    @property
    def tensor_file(self) -> KerasHubWeights:
        return KerasHubWeights(self.folder)

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        return merge_heads(name, value)


class KerasHubBert(KerasHubPreset, PublishedBert):
    """Presets of KerasHub's BertBackbone."""

    description = f"{CONFIG} of a BertBackbone, {KERAS_WEIGHTS} and {BERT_VOCABULARY} (KerasHub)"
    backbone = "BertBackbone"

    def sizes(self) -> dict[str, Any]:
        config = self.config
        sizes = {name: self._setting(config, name, CONFIG) for name in (*SIZES, "num_segments")}
        # BertBackbone has no arguments for these.
        return {**sizes, "activation": "gelu_approximate", "layer_norm_epsilon": 1e-12}

    @property
    def vocabulary(self) -> Path:
        return self._existing(BERT_VOCABULARY)

    @property
    def lower_case(self) -> bool:
        config = self._json(TOKENIZER).get("config", {}) if (self.folder / TOKENIZER).is_file() else {}
        return bool(config["lowercase"]) if "lowercase" in config else super().lower_case

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        if is_head_variable(path):
            return (path,)  # a backbone has no heads
        return layer_names(path, outer=BERT_OUTER, block="transformer_encoder")


class KerasHubGpt2(KerasHubPreset, PublishedGpt):
    """Presets of KerasHub's GPT2Backbone."""

    description = f"{CONFIG} of a GPT2Backbone, {KERAS_WEIGHTS} and {GPT2_VOCABULARY} (KerasHub)"
    backbone = "GPT2Backbone"

    def stated_sizes(self) -> dict[str, Any]:
        config = self.config
        sizes = {name: self._setting(config, name, CONFIG) for name in SIZES}
        # GPT2Backbone has no arguments for these.
        usual = {"positions": "learned", "activation": "gelu_approximate", "epsilon": 1e-5}
        return {**sizes, "num_key_value_heads": sizes["num_heads"], **usual}

    def tokenization(self) -> dict[str, Any]:
        vocabulary = ByteVocabulary.read(self._existing(GPT2_VOCABULARY), special=[END_OF_TEXT])
        return {"vocabulary": vocabulary, "pattern": "gpt2", "end_token": END_OF_TEXT}

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        return layer_names(path, outer=GPT2_OUTER, block="transformer_decoder")


def layer_names(path: str, *, outer: Mapping[str, str], block: str) -> tuple[str, ...]:
    """Return the names of the arrays of a variable; its own path if there is no such array.

    Args:
        path: the variable's path below the model.
        outer: KerasHub's names of the layers outside of blocks.
        block: KerasHub's name of the first block.
    """
    layer, _, kind = path.rpartition("/")
    if layer in outer:
        return (f"layers/{outer[layer]}/vars/{ORDER[kind]}",)
    module, _, part = layer.partition("/")
    if part != "attention/qkv" and part not in BLOCK:
        return (path,)
    index = int(module.removeprefix("block_"))
    prefix = f"layers/{block}{f'_{index}' if index else ''}"
    if part == "attention/qkv":
        names = ("query_dense", "key_dense", "value_dense")
        return tuple(f"{prefix}/_self_attention_layer/{name}/vars/{ORDER[kind]}" for name in names)
    return (f"{prefix}/{BLOCK[part]}/vars/{ORDER[kind]}",)


def merge_heads(name: str, value: np.ndarray) -> np.ndarray:
    """Merge the axis of heads, which the weights of the model do not have."""
    if "_self_attention_layer/" not in name:
        return value
    if value.ndim == 3 and "output_dense" in name:
        return value.reshape(-1, value.shape[-1])  # (H, K, D) -> (D, D)
    if value.ndim == 3:
        return value.reshape(value.shape[0], -1)  # (D, H, K) -> (D, D)
    return value.reshape(-1)  # (H, K) -> (D,)
