"""A ViT preset folder of KerasHub: config.json, model.weights.h5, image_converter.json."""

from collections.abc import Collection
from typing import Any

import numpy as np

from tfattn.errors import CheckpointError
from tfattn.pretrained.keras_hub import CONFIG, ORDER, KerasHubPreset
from tfattn.pretrained.tensor_files import KERAS_WEIGHTS
from tfattn.pretrained.vit import CLASS_TOKEN, POSITIONS, PublishedVit

PIXELS = "image_converter.json"
SIZES = {
    "hidden_dim": "hidden_dim",
    "num_layers": "num_layers",
    "num_heads": "num_heads",
    "intermediate_dim": "mlp_dim",
    "dropout": "dropout_rate",
    "attention_dropout": "attention_dropout",
    "layer_norm_epsilon": "layer_norm_epsilon",
}
DEFAULTS = {"use_class_token": True, "use_patch_bias": True, "use_mha_bias": True, "use_mlp_bias": True}

# Layers of the model and of KerasHub.
EMBEDDING, ENCODER = "layers/vi_t_patching_and_embedding", "layers/vi_t_encoder"
OUTER = {
    CLASS_TOKEN: f"{EMBEDDING}/vars/0",
    POSITIONS: f"{EMBEDDING}/position_embedding/vars/0",
    "tokens/projection/kernel": f"{EMBEDDING}/patch_embedding/vars/0",
    "tokens/projection/bias": f"{EMBEDDING}/patch_embedding/vars/1",
    "norm/gamma": f"{ENCODER}/layer_norm/vars/0",
    "norm/beta": f"{ENCODER}/layer_norm/vars/1",
}
BLOCK = {
    "attention_norm": ("layer_norm_1",),
    "attention/qkv": ("mha/query_dense", "mha/key_dense", "mha/value_dense"),
    "attention/output": ("mha/output_dense",),
    "feed_forward_norm": ("layer_norm_2",),
    "feed_forward/intermediate": ("mlp/dense_1",),
    "feed_forward/output": ("mlp/dense_2",),
}


class KerasHubVit(KerasHubPreset, PublishedVit):
    """Presets of KerasHub's ViTBackbone."""

    description = f"{CONFIG} of a ViTBackbone and {KERAS_WEIGHTS} (KerasHub)"
    backbone = "ViTBackbone"

    def sizes(self) -> dict[str, Any]:
        config = self.config
        self._require_defaults(config, DEFAULTS, CONFIG)
        *sides, channels = self._setting(config, "image_shape", CONFIG)
        patch = self._setting(config, "patch_size", CONFIG)
        if channels != 3 or len(sides) != 2 or len(set(patch)) != 1:
            raise CheckpointError(
                "not supported",
                where=str(self.folder / CONFIG),
                expected="images of 3 colors and square patches",
                received=f"image_shape {[*sides, channels]}, patch_size {patch}",
            )
        return {
            "image_size": sides[0] if sides[0] == sides[1] else sides,
            "patch_size": patch[0],
            **{ours: self._setting(config, theirs, CONFIG) for ours, theirs in SIZES.items()},
            "activation": "gelu",  # ViTBackbone has no argument for it
            **self._pixels(),
        }

    def stored_names(self, path: str, stored: Collection[str]) -> tuple[str, ...]:
        if path in OUTER:
            return (OUTER[path],)
        block, _, rest = path.partition("/")
        part, _, kind = rest.rpartition("/")
        index = block.removeprefix("block_")
        prefix = f"{ENCODER}/encoder_layers/vi_t_encoder_block{f'_{index}' if index != '0' else ''}"
        return tuple(f"{prefix}/{name}/vars/{ORDER[kind]}" for name in BLOCK.get(part, ())) or (path,)

    def convert(self, name: str, value: np.ndarray) -> np.ndarray:
        if name == OUTER[CLASS_TOKEN] or (value.ndim == 2 and "/mha/" in name):
            return value.reshape(-1)  # (1, 1, D), or heads (H, K)
        if value.ndim == 4 or (value.ndim == 3 and "/output_dense/" in name):
            return value.reshape(-1, value.shape[-1])  # patches (P, P, C, D), or heads (H, K, D)
        return value.reshape(len(value), -1) if value.ndim == 3 else value  # (D, H, K) -> (D, D)

    def _pixels(self) -> dict[str, Any]:
        """Read the normalization of pixels, if the folder has it: x 255 scale + offset is (x - mean) / deviation."""
        if not (self.folder / PIXELS).is_file():
            return {}
        config = self._setting(self._json(PIXELS), "config", PIXELS)
        scale = np.broadcast_to(1.0 if config.get("scale") is None else config["scale"], 3)
        offset = np.broadcast_to(0.0 if config.get("offset") is None else config["offset"], 3)
        deviation = 1 / (255 * scale)
        return {"pixel_mean": (-offset * deviation).tolist(), "pixel_deviation": deviation.tolist()}
