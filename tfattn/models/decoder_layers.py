"""The attention of each layer of a decoder: rotary positions, windows and scales, which may differ between layers."""

from collections.abc import Collection
from typing import Any, NamedTuple

from tfattn.errors import ConfigError
from tfattn.ops.rotary_rates import RotaryScaling, scaled_rates, wave_rates


class LayerAttention(NamedTuple):
    """The attention of a layer.

    Attributes:
        has_window: whether the layer sees the positions of the window only.
        options: `rotary_base`, `rotary_rates` and `scale` of its TransformerBlock.
    """

    has_window: bool
    options: dict[str, Any]


def layer_attention(
    *,
    num_layers: int,
    head_dim: int,
    is_rotary: bool,
    rotary_base: float,
    rotary_fraction: float,
    rotary_scaling: RotaryScaling | None,
    unrotated_layers: Collection[int],
    window: int | None,
    global_layers: Collection[int],
    local_rotary_base: float | None,
    query_scale: float | None,
) -> list[LayerAttention]:
    """Return the attention of each layer; the arguments are those of `Gpt`.

    Raises:
        ConfigError: a layer does not exist, or the angles do not fit the width of a head.
    """
    for key, layers in (("unrotated_layers", unrotated_layers), ("global_layers", global_layers)):
        if layers and max(layers) >= num_layers:
            raise ConfigError(
                "there is no such layer",
                key=key,
                expected=f"indices from 0 to {num_layers - 1}",
                received=str(max(layers)),
            )
    found = []
    for index in range(num_layers):
        has_window = window is not None and index not in global_layers
        has_own_base = has_window and local_rotary_base is not None
        base = local_rotary_base if has_own_base else rotary_base
        scaling = None if has_own_base else rotary_scaling
        is_rotated = is_rotary and index not in unrotated_layers
        options = {"rotary_base": base, "rotary_rates": None, "scale": query_scale}
        if not is_rotated:
            options["rotary_base"] = None
        elif scaling is not None or rotary_fraction < 1:
            options["rotary_rates"] = _rates(head_dim, base, rotary_fraction, scaling)
        if is_rotated and scaling is not None and scaling["name"] == "yarn":
            # Queries and keys are both multiplied by the factor.
            options["scale"] = (query_scale or head_dim**-0.5) * scaling["attention_factor"] ** 2
        found.append(LayerAttention(has_window, options))
    return found


def _rates(head_dim: int, base: float, fraction: float, scaling: RotaryScaling | None) -> list[float]:
    """Return the angles of the rotated part of a head."""
    width = int(head_dim * fraction)
    if width < 2 or width % 2:
        raise ConfigError(
            "rotary positions rotate pairs of a head's components",
            key="rotary_fraction",
            expected=f"an even number of the {head_dim} components of a head",
            received=f"{fraction:g}, which is {width} components",
        )
    if scaling is None:
        return wave_rates(width, base)
    if scaling["name"] == "factors" and len(scaling["factors"]) != width // 2:
        raise ConfigError(
            "the factors do not fit the heads",
            key="rotary_scaling.factors",
            expected=f"{width // 2} factors, one for every two components of a head",
            received=f"{len(scaling['factors'])} factors",
        )
    if scaling["name"] == "yarn" and width < head_dim and scaling["attention_factor"] != 1:
        raise ConfigError(
            "yarn multiplies all components of queries and keys",
            key="rotary_scaling.attention_factor",
            expected="1.0, or a rotary_fraction of 1.0",
            received=f"{scaling['attention_factor']:g}",
        )
    return scaled_rates(width, base, scaling)
