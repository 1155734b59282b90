"""A picture of attention weights: of a layer and head, the mean of heads, or the rollout."""

import numpy as np
from matplotlib.figure import Figure

from tfattn.attention.views import ROLLOUT, Part, Views
from tfattn.errors import ConfigError
from tfattn.evaluation.plots import alignment
from tfattn.ops.attention_record import CROSS

MAX_TOKENS = 60  # tokens of a side


def picture(views: Views, *, layer: int | None = None, head: int | None = None) -> Figure:
    """Plot attention weights as a heat map.

    Without layer and head, plot the rollout of self-attention; for encoder-decoder models, the mean cross-attention of
    the penultimate layer, which aligns best (Garg et al. 2019).

    Args:
        views: the views of one input.
        layer, head: from 1; None for the mean of all heads, or of all layers.

    Raises:
        ConfigError: the layer or head does not exist, or there are more than MAX_TOKENS tokens.
    """
    part, weights, words = _select(views, layer, head)
    rows, columns = (views.sequences[side].names for side in (part.rows, part.columns))
    longest = max(len(rows), len(columns))
    if longest > MAX_TOKENS:
        raise ConfigError(
            "there are too many tokens for a picture",
            expected=f"at most {MAX_TOKENS}",
            received=str(longest),
            remedy="Take a shorter text, or write a page: --output attention.html.",
        )
    return alignment(weights, columns, rows, title=f"{views.title}: {words}")


def _select(views: Views, layer: int | None, head: int | None) -> tuple[Part, np.ndarray, str]:
    """Return a part, weights (T, S), and their description."""
    names = [part.name for part in views.parts]
    if layer is None and head is None and CROSS not in names:
        part = next(part for part in views.parts if part.name.endswith(ROLLOUT))
        return part, part.weights[-1, 0], part.name
    part = views.part(CROSS) if CROSS in names else views.parts[0]
    num_layers, num_heads = part.weights.shape[:2]
    if layer is None and head is None:
        layer = max(num_layers - 1, 1)
    _check("layer", layer, num_layers)
    _check("head", head, num_heads)
    of_layers = part.weights if layer is None else part.weights[layer - 1 : layer]
    of_heads = of_layers if head is None else of_layers[:, head - 1 : head]
    description = [f"layer {layer}" if layer else "all layers", f"head {head}" if head else "mean of heads"]
    return part, of_heads.mean(axis=(0, 1)), f"{part.name}, {', '.join(description)}"


def _check(name: str, number: int | None, count: int) -> None:
    if number is not None and not 1 <= number <= count:
        raise ConfigError(f"there is no such {name}", key=name, expected=f"1 to {count}", received=str(number))
