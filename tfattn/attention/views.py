"""Views of attention: data with a display as page or picture, built from the outputs of attention signatures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tfattn.attention.attention_data import AttentionData, Attributions, Part, Tokens
from tfattn.attention.page import framed, page
from tfattn.errors import ConfigError, ServingError
from tfattn.evaluation.plots import alignment
from tfattn.ops.attention_record import CROSS, DECODER, ENCODER
from tfattn.ops.rollout import rollout

ROLLOUT = "rollout"
TARGET, WRITTEN = "target_", "written_"  # prefixes of outputs about target tokens
# Prefixes of the sequences that a part attends from and to.
SIDES = {ENCODER: ("", ""), DECODER: (TARGET, TARGET), CROSS: (WRITTEN, "")}
WEIGHTS = "_weights"


class Views(AttentionData):
    """Attention data that can be displayed in notebooks and written as a page."""

    def html(self) -> str:
        """Return the page: one self-contained HTML file."""
        return page(self)

    def _repr_html_(self) -> str:
        return framed(self)


def of_outputs(
    title: str,
    attention: Mapping[str, Any],
    vectors: Mapping[str, Any] | None = None,
    attributions: Mapping[str, Any] | None = None,
    *,
    image: bytes | None = None,
) -> Views:
    """Build views from one row of the outputs of the signatures of `tfattn.export.attention`.

    Args:
        title: the name of the model.
        attention, vectors, attributions: outputs by name, without the batch dimension; None if the model does not have
            the signature. For images `attention` has `grid`, the rows and columns of patches.
        image: the bytes of the image file.

    Raises:
        ServingError: the outputs contain no attention weights.
    """
    prefixes = [prefix for prefix in ("", TARGET, WRITTEN) if f"{prefix}tokens" in attention]
    sequences = [_tokens(attention, prefix, image) for prefix in prefixes]
    parts = []
    for name, sides in SIDES.items():
        if f"{name}{WEIGHTS}" in attention:
            rows, columns = (prefixes.index(side) if side in prefixes else 0 for side in sides)
            parts.append(_part(name, (rows, columns), sequences, {**attention, **(vectors or {})}))
    if not parts:
        raise ServingError(
            "the model returns no attention weights", expected=", ".join(f"{name}{WEIGHTS}" for name in SIDES)
        )
    own = [part for part in parts if part.rows == part.columns]
    rolled = [Part(f"{part.name} {ROLLOUT}", part.rows, part.columns, rollout(part.weights)) for part in own]
    return Views(title, sequences, [*parts, *rolled], attributions and _attributions(attributions, len(sequences[0])))


def _tokens(outputs: Mapping[str, Any], prefix: str, image: bytes | None) -> Tokens:
    segments = np.asarray(outputs[f"{prefix}segments"], int)
    length = int(np.sum(segments >= 0))
    names, words, texts, special = (
        np.asarray(outputs[f"{prefix}{name}"]).tolist()[:length]
        for name in ("tokens", "words", "word_texts", "is_special")
    )
    grid = tuple(map(int, outputs["grid"])) if "grid" in outputs else None
    labels = (words, [*map(_text, texts)], segments[:length].tolist(), special)
    return Tokens([*map(_text, names)], *labels, grid=grid, image=image)


def _part(name: str, sides: tuple[int, int], sequences: Sequence[Tokens], outputs: Mapping[str, Any]) -> Part:
    rows, columns = (len(sequences[side]) for side in sides)
    weights = np.asarray(outputs[f"{name}{WEIGHTS}"], np.float32)[:, :, :rows, :columns]
    queries, keys = (outputs.get(f"{name}_{kind}") for kind in ("queries", "keys"))
    if queries is not None:
        queries = np.asarray(queries, np.float32)[:, :, :rows]
        keys = np.asarray(keys, np.float32)[:, :, :columns]
    return Part(name, *sides, weights, queries, keys)


def _attributions(outputs: Mapping[str, Any], length: int) -> Attributions:
    score, baseline = (float(outputs[name]) for name in ("score", "baseline_score"))
    values = np.asarray(outputs["attributions"], np.float32)[:length]
    return Attributions(values, score, baseline, _text(outputs["scored"]))


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


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
            remedy="Use a shorter text, or write a page: --output attention.html.",
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
