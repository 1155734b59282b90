"""How KerasHub names and lays out the weights of its models: after the classes of their layers."""

from collections.abc import Mapping

import numpy as np

# Our layers and KerasHub's.
BLOCK = {
    "attention/output": "_self_attention_layer/output_dense",
    "attention_norm": "_self_attention_layer_norm",
    "feed_forward/intermediate": "_feedforward_intermediate_dense",
    "feed_forward/output": "_feedforward_output_dense",
    "feed_forward_norm": "_feedforward_layer_norm",
}
ORDER = {"embeddings": 0, "kernel": 0, "gamma": 0, "bias": 1, "beta": 1}


def stored_names(path: str, *, outer: Mapping[str, str], block: str) -> tuple[str, ...]:
    """Return the names of the arrays that make one of our variables; its own path where there is no such thing.

    Args:
        path: the variable's path below the model.
        outer: its names of the layers outside of blocks, by ours.
        block: its name of the first block.
    """
    layer, _, kind = path.rpartition("/")
    if layer in outer:
        return (f"layers/{outer[layer]}/vars/{ORDER[kind]}",)
    room, _, part = layer.partition("/")
    if part != "attention/qkv" and part not in BLOCK:
        return (path,)
    index = int(room.removeprefix("block_"))
    below = f"layers/{block}{f'_{index}' if index else ''}"
    if part == "attention/qkv":
        names = ("query_dense", "key_dense", "value_dense")
        return tuple(f"{below}/_self_attention_layer/{name}/vars/{ORDER[kind]}" for name in names)
    return (f"{below}/{BLOCK[part]}/vars/{ORDER[kind]}",)


def merge_heads(name: str, value: np.ndarray) -> np.ndarray:
    """Lay a weight out as ours, in which heads have no axis of their own."""
    if "_self_attention_layer/" not in name:
        return value
    if value.ndim == 3 and "output_dense" in name:
        return value.reshape(-1, value.shape[-1])  # (H, K, D) -> (D, D)
    if value.ndim == 3:
        return value.reshape(value.shape[0], -1)  # (D, H, K) -> (D, D)
    return value.reshape(-1)  # (H, K) -> (D,)
