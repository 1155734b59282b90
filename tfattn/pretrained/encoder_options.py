"""Options of encoders that follow from several keys of transformers' config.json.

Each function takes the content of a config.json, completed by the defaults of the architecture, and returns arguments
of the model.
"""

from collections.abc import Mapping
from typing import Any

from tfattn.errors import CheckpointError

Config = Mapping[str, Any]

FULL, SLIDING = "full_attention", "sliding_attention"
_GLOBAL_BASE, _LOCAL_BASE, _EVERY, _WINDOW = 160000.0, 10000.0, 3, 128  # the defaults of ModernBERT


def disentangled(config: Config) -> dict[str, Any]:
    """Return the range of relative positions (DeBERTa)."""
    kinds = config.get("pos_att_type") or ()
    names = sorted(name.strip() for name in (kinds.lower().split("|") if isinstance(kinds, str) else kinds))
    if names != ["c2p", "p2c"]:
        raise unsupported("pos_att_type", "c2p|p2c", kinds)
    for key in ("embedding_size", "attention_head_size"):
        usual = config["hidden_size"] // (config["num_attention_heads"] if key == "attention_head_size" else 1)
        if config.get(key, usual) != usual:
            raise unsupported(key, str(usual), config[key])
    if config["position_buckets"] < 2:
        raise unsupported("position_buckets", "above 1", config["position_buckets"])
    longest = config["max_relative_positions"]
    return {"max_relative_positions": longest if longest > 0 else config["max_position_embeddings"]}


def local_attention(config: Config) -> dict[str, Any]:
    """Return the window of local layers, the interval of other layers, and the bases of rotary positions."""
    depth, kinds = config["num_hidden_layers"], config.get("layer_types")
    every = config.get("global_attn_every_n_layers", _EVERY)
    if kinds is not None:
        every = next((layer for layer in range(1, depth) if kinds[layer] == FULL), depth)
        expected = [SLIDING if layer % every else FULL for layer in range(depth)]
        if kinds != expected:
            raise unsupported("layer_types", f"{FULL} in every {every}th layer from the first, else {SLIDING}", kinds)
    bases = {}
    rotation = config.get("rope_parameters") or {}
    for kind, key, usual in ((FULL, "global_rope_theta", _GLOBAL_BASE), (SLIDING, "local_rope_theta", _LOCAL_BASE)):
        settings = {"rope_theta": config.get(key) or usual, **(rotation.get(kind) or {})}
        if settings.get("rope_type", "default") != "default":
            raise unsupported(f"rope_parameters.{kind}.rope_type", "default", settings["rope_type"])
        bases[kind] = float(settings["rope_theta"])
    return {
        "local_attention": config.get("local_attention", _WINDOW),
        "global_attention_every": every,
        "rotary_base": bases[FULL],
        "local_rotary_base": bases[SLIDING],
    }


def biases(config: Config) -> dict[str, Any]:
    """Return which linear maps and norms add a vector (ModernBERT)."""
    found = config.get("attention_bias", False)
    if config.get("mlp_bias", False) != found:
        raise unsupported("mlp_bias", f"{found}, as attention_bias", config.get("mlp_bias", False))
    return {
        "use_bias": found,
        "normalization": "layer_norm" if config.get("norm_bias", False) else "layer_norm_no_bias",
    }


def unsupported(key: str, expected: str, received: Any) -> CheckpointError:
    """Return the error for a value that the model does not have."""
    return CheckpointError("not supported", expected=f"{key} to be {expected}", received=str(received)[:60])
