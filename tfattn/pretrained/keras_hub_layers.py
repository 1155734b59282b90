"""Names and layout of the weights in KerasHub, which follow the classes of its layers."""

from collections.abc import Mapping

import numpy as np

# Layers of the model and of KerasHub.
BLOCK = {
    "attention/output": "_self_attention_layer/output_dense",
    "attention_norm": "_self_attention_layer_norm",
    "feed_forward/intermediate": "_feedforward_intermediate_dense",
    "feed_forward/output": "_feedforward_output_dense",
    "feed_forward_norm": "_feedforward_layer_norm",
}
ORDER = {"embeddings": 0, "kernel": 0, "gamma": 0, "bias": 1, "beta": 1}


def stored_names(path: str, *, outer: Mapping[str, str], block: str) -> tuple[str, ...]:
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
