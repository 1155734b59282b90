"""Options of decoders that follow from several keys of transformers' config.json: rotary positions, windows, biases.

Each function takes the content of a config.json, completed by the defaults of the architecture, and returns arguments
of `Gpt`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfattn.errors import CheckpointError

Config = Mapping[str, Any]
Options = Callable[[Config], dict[str, Any]]

FULL, SLIDING = "full_attention", "sliding_attention"
# Dynamic scaling changes nothing up to max_position_embeddings, the maximum length of the model here.
_UNSCALED = ("default", "dynamic")


def rotary(config: Config) -> dict[str, Any]:
    """Return the base, the fraction and the scaling of rotary positions."""
    return _rotary(config, _rotation(config))


def rotary_of_two_kinds(config: Config) -> dict[str, Any]:
    """Return the settings of layers that see all positions, and the base of layers with a window (Gemma 3)."""
    rotation = _rotation(config)
    if FULL not in rotation and SLIDING not in rotation:  # as in the files of the first releases
        return {**_rotary(config, rotation), "local_rotary_base": float(config["rope_local_base_freq"])}
    local = {"rope_theta": config["rope_local_base_freq"], **(rotation.get(SLIDING) or {})}
    if (kind := _kind(local)) != "default":
        raise _unsupported(f"rope_parameters.{SLIDING}.rope_type", "default", kind)
    whole = {"rope_theta": config["rope_theta"], **(rotation.get(FULL) or {})}
    return {**_rotary(config, whole), "local_rotary_base": float(local["rope_theta"])}


def rotary_of_neox(config: Config) -> dict[str, Any]:
    """Return the settings of GPT-NeoX, which has other names for them."""
    names = {"rope_theta": config["rotary_emb_base"], "partial_rotary_factor": config["rotary_pct"]}
    return rotary({**config, **names})


def window(config: Config) -> dict[str, Any]:
    """Return the window of all layers (Mistral)."""
    return {} if config["sliding_window"] is None else {"window": config["sliding_window"]}


def windows(config: Config) -> dict[str, Any]:
    """Return the window, and the layers that do not have it."""
    depth, size = config["num_hidden_layers"], config["sliding_window"]
    if size is None or not config.get("use_sliding_window", True):
        return {}
    kinds = config.get("layer_types")
    if kinds is None:
        pattern, first = config.get("sliding_window_pattern"), config.get("max_window_layers", 0)
        has_window = [(index + 1) % pattern != 0 if pattern else index >= first for index in range(depth)]
    elif isinstance(kinds, list) and len(kinds) == depth and set(kinds) <= {FULL, SLIDING}:
        has_window = [kind == SLIDING for kind in kinds]
    else:
        raise _unsupported("layer_types", f"{FULL} or {SLIDING} for each of {depth} layers", kinds)
    if not any(has_window):
        return {}
    return {"window": size, "global_layers": [index for index in range(depth) if not has_window[index]]}


def unrotated_layers(config: Config) -> dict[str, Any]:
    """Return the layers without rotary positions (SmolLM3)."""
    depth, rotated = config["num_hidden_layers"], config["no_rope_layers"]
    if rotated is None:
        interval = config["no_rope_layer_interval"]
        rotated = [int((index + 1) % interval != 0) for index in range(depth)]
    if not isinstance(rotated, list) or len(rotated) < depth or not set(rotated) <= {0, 1}:
        raise _unsupported("no_rope_layers", f"0 or 1 for each of {depth} layers", rotated)
    return {"unrotated_layers": [index for index in range(depth) if not rotated[index]]}


def biases(config: Config) -> dict[str, Any]:
    """Return which linear maps add a vector."""
    attention = "all" if config["attention_bias"] else "none"
    return {"use_bias": bool(config.get("mlp_bias", False)), "attention_bias": attention}


def query_scale(config: Config) -> dict[str, Any]:
    """Return the factor of the dot products of queries and keys."""
    return {"query_scale": _positive(config, "query_pre_attn_scalar") ** -0.5}


def residual(config: Config) -> dict[str, Any]:
    """Return whether attention and feed-forward network read the same input (GPT-NeoX)."""
    return {"norm": "parallel" if config["use_parallel_residual"] else "pre"}


def _rotation(config: Config) -> dict[str, Any]:
    """Return the settings of rotary positions, which newer versions of transformers group."""
    found = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(found, dict):
        raise _unsupported("rope_parameters", "a mapping", found)
    return found


def _rotary(config: Config, rotation: Mapping[str, Any]) -> dict[str, Any]:
    merged = {"rope_theta": config["rope_theta"], "partial_rotary_factor": config["partial_rotary_factor"], **rotation}
    return {
        "rotary_base": _positive(merged, "rope_theta"),
        "rotary_fraction": _positive(merged, "partial_rotary_factor"),
        "rotary_scaling": _scaling(config, rotation),
    }


def _scaling(config: Config, rotation: Mapping[str, Any]) -> dict[str, Any] | None:
    match kind := _kind(rotation):
        case "default" | "dynamic":
            return None
        case "linear":
            return {"name": "linear", "factor": _positive(rotation, "factor")}
        case "llama3":
            return {
                "name": "llama3",
                "factor": _positive(rotation, "factor"),
                "low_frequency_factor": _positive(rotation, "low_freq_factor"),
                "high_frequency_factor": _positive(rotation, "high_freq_factor"),
                "original_length": _original_length(config, rotation),
            }
        case "yarn":
            original = _original_length(config, rotation)
            longest = config["max_position_embeddings"]
            factor = _positive(rotation, "factor") if rotation.get("factor") else longest / original
            return {
                "name": "yarn",
                "factor": factor,
                "original_length": original,
                "beta_fast": float(rotation.get("beta_fast") or 32.0),
                "beta_slow": float(rotation.get("beta_slow") or 1.0),
                "attention_factor": _yarn_attention_factor(factor, rotation),
                "truncate": bool(rotation.get("truncate", True)),
            }
    raise _unsupported("rope_type", ", ".join([*_UNSCALED, "linear", "llama3", "yarn"]), kind)


def _kind(rotation: Mapping[str, Any]) -> Any:
    return rotation.get("rope_type", rotation.get("type", "default"))


def _original_length(config: Config, rotation: Mapping[str, Any]) -> int:
    key = "original_max_position_embeddings"
    return config.get(key) or rotation.get(key) or config["max_position_embeddings"]


def _yarn_attention_factor(factor: float, rotation: Mapping[str, Any]) -> float:
    """Return the stated factor of queries and keys, or else 0.1 ln(factor) + 1."""

    def scale(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    if rotation.get("attention_factor") is not None:
        return _positive(rotation, "attention_factor")
    weights: Sequence[Any] = (rotation.get("mscale"), rotation.get("mscale_all_dim"))
    return scale(weights[0]) / scale(weights[1]) if all(weights) else scale(1.0)


def _positive(settings: Mapping[str, Any], key: str) -> float:
    value = settings.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise _unsupported(key, "a number above 0", value)
    return float(value)


def _unsupported(key: str, expected: str, received: Any) -> CheckpointError:
    return CheckpointError("not supported", expected=f"{key} to be {expected}", received=str(received)[:60])
