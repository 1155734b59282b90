"""ViT and DeiT folders of Hugging Face: config.json, model.safetensors, preprocessor_config.json."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError
from tfattn.pretrained.contract import TensorNames
from tfattn.pretrained.hugging_face import ACTIVATIONS, CONFIG, HuggingFaceFolder
from tfattn.pretrained.tensor_files import SAFETENSORS
from tfattn.pretrained.vit import CLASS_TOKEN, POSITIONS, PublishedVit

PIXELS = "preprocessor_config.json"

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
DEFAULTS = {"num_channels": 3, "qkv_bias": True}
# The image processor scales pixels to 0 to 1 first.
PIXEL_DEFAULTS = {"do_rescale": True, "rescale_factor": 1 / 255}

# Variables that are parameters of no layer in transformers.
TABLES = {CLASS_TOKEN: "embeddings.cls_token", POSITIONS: "embeddings.position_embeddings"}
NAMES = TensorNames(
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


class HuggingFaceVit(HuggingFaceFolder, PublishedVit):
    """Weights as transformers' ViTModel saves them, alone or inside ViTForImageClassification.

    Attributes:
        prefix: the prefix of all tensors except the head, in a model with a head.
        tables: the names of the variables that are parameters of no layer in transformers.
        names: the names of the other variables.
    """

    description = f"{CONFIG} with model_type vit and {SAFETENSORS} (Hugging Face)"
    model_types = ("vit",)
    prefix = "vit."
    tables = TABLES
    names = NAMES

    def sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        self._require_defaults(config, DEFAULTS, CONFIG)
        return {
            **self.sides(config),
            **{ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()},
            "activation": self._setting(config, "hidden_act", CONFIG, ACTIVATIONS),
            **self.pixels(),
        }

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        prefix = self.prefix if any(name.startswith(self.prefix) for name in stored) else ""
        names = (self.tables[path],) if path in self.tables else self.names.tensor_names(path)
        return names if names == (path,) else tuple(prefix + name for name in names)

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        if value.ndim == 4:  # a convolution over patches, (D, C, P, P)
            return value.transpose(2, 3, 1, 0).reshape(-1, len(value))
        if value.ndim == 3:  # (1, T, D); (1, 1, D) for the class token
            return value[0, 0] if name.endswith(("cls_token", "distillation_token")) else value[0]
        return value.T  # PyTorch linear layers have (outputs, inputs)

    def restore(self, name: str, value: np.ndarray) -> np.ndarray:
        if name.endswith("patch_embeddings.projection.weight"):
            patch = self._side(self._json(CONFIG), "patch_size")
            return value.reshape(patch, patch, -1, value.shape[1]).transpose(3, 2, 0, 1)
        if name.endswith(tuple(self.tables.values())):
            return value.reshape(1, -1, value.shape[-1])
        return value.T

    def sides(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Read the sizes of images and patches in pixels."""
        image_size = self._side(config, "image_size", may_differ=True)
        return {"image_size": image_size, "patch_size": self._side(config, "patch_size")}

    def pixels(self) -> dict[str, Any]:
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


class HuggingFaceDeit(HuggingFaceVit):
    """Weights as transformers' DeiTModel saves them, alone or inside a model with one classifier or two.

    A DeiT has a distillation token; the vector of an image is the output of the class token.
    """

    description = f"{CONFIG} with model_type deit and {SAFETENSORS} (Hugging Face)"
    model_types = ("deit",)
    prefix = "deit."
    tables = {**TABLES, "distillation_token/vector": "embeddings.distillation_token"}

    def sizes(self) -> dict[str, Any]:
        return {**super().sizes(), "distillation_token": True}
