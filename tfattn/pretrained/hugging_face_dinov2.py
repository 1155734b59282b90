"""DINOv2 folders of Hugging Face, with and without registers: config.json, model.safetensors, pixels."""

from collections.abc import Collection
from typing import Any

from tfattn.pretrained.contract import TensorNames
from tfattn.pretrained.hugging_face import ACTIVATIONS, CONFIG
from tfattn.pretrained.hugging_face_vit import DEFAULTS, SIZES, TABLES, HuggingFaceVit
from tfattn.pretrained.tensor_files import SAFETENSORS

SCALES = {"attention_scale/gamma": "layer_scale1.lambda1", "feed_forward_scale/gamma": "layer_scale2.lambda1"}
FEED_FORWARD = {"feed_forward/intermediate": ("mlp.fc1",), "feed_forward/output": ("mlp.fc2",)}
GATED_FEED_FORWARD = {"feed_forward/intermediate": ("mlp.weights_in",), "feed_forward/output": ("mlp.weights_out",)}


def _names(feed_forward: dict[str, tuple[str, ...]]) -> TensorNames:
    return TensorNames(
        outer={"tokens/projection": "embeddings.patch_embeddings.projection", "norm": "layernorm"},
        block="encoder.layer.{}.",
        parts={
            "attention_norm": ("norm1",),
            "attention/qkv": tuple(f"attention.attention.{name}" for name in ("query", "key", "value")),
            "attention/output": ("attention.output.dense",),
            "feed_forward_norm": ("norm2",),
            **feed_forward,
        },
    )


class HuggingFaceDinov2(HuggingFaceVit):
    """Weights as transformers' Dinov2Model saves them, alone or inside Dinov2ForImageClassification.

    The vector of an image is the output of the class token.
    """

    description = f"{CONFIG} with model_type dinov2 and {SAFETENSORS} (Hugging Face)"
    model_types = ("dinov2",)
    prefix = "dinov2."

    def sizes(self) -> dict[str, Any]:
        config = self._json(CONFIG)
        self._require_defaults(config, {**DEFAULTS, "drop_path_rate": 0.0}, CONFIG)
        width, ratio = self._setting(config, "hidden_size", CONFIG), self._setting(config, "mlp_ratio", CONFIG)
        given = {**config, "intermediate_size": int(width * ratio)}
        is_gated = config.get("use_swiglu_ffn", False)
        if is_gated:
            # Two thirds of the width, rounded up to a multiple of 8.
            given["intermediate_size"] = (int(given["intermediate_size"] * 2 / 3) + 7) // 8 * 8
        return {
            **self.sides(config),
            **{ours: self._setting(given, theirs, CONFIG) for ours, theirs in SIZES.items()},
            "activation": "swiglu" if is_gated else self._setting(config, "hidden_act", CONFIG, ACTIVATIONS),
            "layer_scale": config.get("layerscale_value", 1.0),
            **self.pixels(),
        }

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        block, _, part = path.partition("/")
        if part in SCALES:
            prefix = self.prefix if any(name.startswith(self.prefix) for name in stored) else ""
            return (f"{prefix}encoder.layer.{block.removeprefix('block_')}.{SCALES[part]}",)
        return super().stored_names(path, stored)

    @property
    def names(self) -> TensorNames:
        is_gated = self._json(CONFIG).get("use_swiglu_ffn", False)
        return _names(GATED_FEED_FORWARD if is_gated else FEED_FORWARD)


class HuggingFaceDinov2WithRegisters(HuggingFaceDinov2):
    """Weights as transformers' Dinov2WithRegistersModel saves them, alone or inside a model with a classifier."""

    description = f"{CONFIG} with model_type dinov2_with_registers and {SAFETENSORS} (Hugging Face)"
    model_types = ("dinov2_with_registers",)
    prefix = "dinov2_with_registers."
    tables = {**TABLES, "registers/vectors": "embeddings.register_tokens"}
    antialiases = True

    def sizes(self) -> dict[str, Any]:
        return {**super().sizes(), "num_registers": self._setting(self._json(CONFIG), "num_register_tokens", CONFIG)}
