"""One picture of attention: of a layer and a head, of the mean of heads, or of the rollout."""

import numpy as np
from matplotlib.figure import Figure

from tfattn.attention.views import ROLLOUT, Part, Views
from tfattn.errors import ConfigError
from tfattn.evaluation.alignment_plot import alignment
from tfattn.ops.attention_record import CROSS

LARGEST = 60  # tokens of a side


def picture(views: Views, *, layer: int | None = None, head: int | None = None) -> Figure:
    """Draw a square for each pair of tokens.

    Without a layer and a head it is the rollout of a model that attends to itself; of one that writes, the attention to
    its source in the layer below the last, as the mean of its heads, which aligns best (Garg et al. 2019).

    Args:
        views: of one input.
        layer, head: from 1; None for the mean of all heads, or of all layers.

    Raises:
        ConfigError: there is no such layer or head, or there are too many tokens to be read in a picture.
    """
    part, weights, words = _chosen(views, layer, head)
    rows, columns = (views.sequences[side].names for side in (part.rows, part.columns))
    longest = max(len(rows), len(columns))
    if longest > LARGEST:
        raise ConfigError(
            "there are too many tokens for a picture",
            expected=f"at most {LARGEST}",
            received=str(longest),
            remedy="Take a shorter text, or write a page: --output attention.html.",
        )
    return alignment(weights, columns, rows, title=f"{views.title}: {words}")


def _chosen(views: Views, layer: int | None, head: int | None) -> tuple[Part, np.ndarray, str]:
    """Choose weights (T, S), and say which they are."""
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
    said = [f"layer {layer}" if layer else "all layers", f"head {head}" if head else "mean of heads"]
    return part, of_heads.mean(axis=(0, 1)), f"{part.name}, {', '.join(said)}"


def _check(name: str, number: int | None, count: int) -> None:
    if number is not None and not 1 <= number <= count:
        raise ConfigError(f"there is no such {name}", key=name, expected=f"1 to {count}", received=str(number))
