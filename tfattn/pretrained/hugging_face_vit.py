"""A Vision Transformer folder of Hugging Face: config.json, model.safetensors, preprocessor_config.json."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError
from tfattn.pretrained import safetensors_file
from tfattn.pretrained.contract import read_json
from tfattn.pretrained.decoder_names import DecoderNames
from tfattn.pretrained.safetensors_file import WEIGHTS
from tfattn.pretrained.vit import CLASS_TOKEN, POSITIONS, PublishedVit

CONFIG, PIXELS = "config.json", "preprocessor_config.json"
PREFIX = "vit."  # of all tensors except the head, in a model with a head

SIZES = {
    "hidden_dim": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_dim": "intermediate_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "layer_norm_epsilon": "layer_norm_eps",
    "initializer_range": "initializer_range",
}
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_approximate",
    "gelu_pytorch_tanh": "gelu_approximate",
    "relu": "relu",
}
DEFAULTS = {"num_channels": 3, "qkv_bias": True}
# The image processor scales pixels to 0 to 1 first.
PIXEL_DEFAULTS = {"do_rescale": True, "rescale_factor": 1 / 255}

# Variables that are parameters of no layer in transformers.
TABLES = {CLASS_TOKEN: "embeddings.cls_token", POSITIONS: "embeddings.position_embeddings"}
NAMES = DecoderNames(
    outer={"tokens/projection": "embeddings.patch_embeddings.projection", "norm": "layernorm"},
    block="encoder.layer.{}.",
    parts={
        "attention_norm": ("layernorm_before",),
        "attention/qkv": tuple(f"attention.attention.{name}" for name in ("query", "key", "value")),
        "attention/output": ("attention.output.dense",),
        "feed_forward_norm": ("layernorm_after",),
        "feed_forward/intermediate": ("intermediate.dense",),
        "feed_forward/output": ("output.dense",),
    },
)


class HuggingFaceVit(PublishedVit):
    """Weights as transformers' ViTModel saves them, alone or inside ViTForImageClassification."""

    description = f"{CONFIG} with model_type vit and {WEIGHTS} (Hugging Face)"
    weights = (WEIGHTS,)

    @classmethod
    def matches(cls, folder: Path) -> bool:
        return (folder / CONFIG).is_file() and read_json(folder / CONFIG).get("model_type") == "vit"

    def sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        self._require_defaults(config, DEFAULTS, CONFIG)
        return {
            "image_size": self._side(config, "image_size", may_differ=True),
            "patch_size": self._side(config, "patch_size"),
            **{ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()},
            "activation": self._setting(config, "hidden_act", CONFIG, ACTIVATIONS),
            **self._pixels(),
        }

    def stored_shapes(self) -> dict[str, tuple[int, ...]]:
        return safetensors_file.shapes(self.folder)

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        prefix = PREFIX if any(name.startswith(PREFIX) for name in stored) else ""
        names = (TABLES[path],) if path in TABLES else NAMES.tensor_names(path)
        return names if names == (path,) else tuple(prefix + name for name in names)

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        return {name: _convert(value) for name, value in safetensors_file.tensors(self.folder, names).items()}

    def _pixels(self) -> dict[str, Any]:
        """Read the normalization of pixels, if the folder has it."""
        if not (self.folder / PIXELS).is_file():
            return {}
        settings = self._json(PIXELS)
        self._require_defaults(settings, PIXEL_DEFAULTS, PIXELS)
        if not settings.get("do_normalize", True):
            return {"pixel_mean": [0.0] * 3, "pixel_deviation": [1.0] * 3}
        return {
            "pixel_mean": self._setting(settings, "image_mean", PIXELS),
            "pixel_deviation": self._setting(settings, "image_std", PIXELS),
        }

    def _side(self, config: Mapping[str, Any], name: str, *, may_differ: bool = False) -> Any:
        """Read a side in pixels, given as a number or as two numbers."""
        value = self._setting(dict(config), name, CONFIG)
        sides = [value] * 2 if isinstance(value, int) else value
        if (
            not isinstance(sides, list)
            or [type(side) for side in sides] != [int, int]
            or not (may_differ or sides[0] == sides[1])
        ):
            expected = f"{name} to be a side in pixels" + ", or two of them" * may_differ
            raise CheckpointError(
                "not supported", where=str(self.folder / CONFIG), expected=expected, received=str(value)[:60]
            )
        return sides[0] if sides[0] == sides[1] else sides


def _convert(value: np.ndarray) -> np.ndarray:
    if value.ndim == 4:  # a convolution over patches, (D, C, P, P)
        return value.transpose(2, 3, 1, 0).reshape(-1, len(value))
    if value.ndim == 3:  # (1, T, D), or (1, 1, D) for the class token
        return value[0, 0] if value.shape[1] == 1 else value[0]
    return value.T  # PyTorch linear layers have (outputs, inputs)
