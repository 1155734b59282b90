"""A map of words: as near to each other as two dimensions allow."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tfattn.drawing.colours import BLUE
from tfattn.drawing.figures import new_figure, short, styled, width_of
from tfattn.errors import ConfigError
from tfattn.vectors.word_vectors import WordVectors

FEWEST = 3
LEAST_HEIGHT = 4.0  # inches
ROUNDS = 3
LINE = 0.16  # inches that a line of text is high
APART = 0.06  # inches between a dot and its word
# Where a word may stand beside its dot, the best first: to the right, left, above, below.
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


@styled
def word_map(vectors: WordVectors, words: Sequence[str]) -> Figure:
    """Draw words where the two main axes of their vectors, brought to length 1, have them.

    Raises:
        ConfigError: there are too few words for a map.
        DataError: a word has no vector.
    """
    words = [*dict.fromkeys(words)]
    if len(words) < FEWEST:
        raise ConfigError(
            "too few words for a map", expected=f"at least {FEWEST} different ones", received=f"{len(words)}"
        )
    places, shares = principal_axes(vectors.directions([vectors.place(word) for word in words]))
    width, height = np.ptp(places, axis=0)
    side = LEAST_HEIGHT + 0.06 * len(words)
    figure = new_figure(side * np.clip(width / max(height, 1e-9), 1.0, 1.8), side)
    axes = figure.add_subplot()
    axes.scatter(*places.T, color=BLUE, s=18, zorder=3)
    # Equal scales, so that distances are what they look like; where zero stands means nothing.
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.tick_params(labelbottom=False, labelleft=False, length=0)
    for axis, share, name in zip((axes.xaxis, axes.yaxis), shares, ("first", "second"), strict=True):
        axis.set_label_text(f"{name} main axis ({share:.0%} of the variance)")
    figure.get_layout_engine().execute(figure)
    axes.apply_aspect()
    inches = figure.dpi_scale_trans.inverted().transform(axes.transData.transform(places))
    for word, place, (right, up) in zip(words, places, _sides(words, inches), strict=True):
        axes.annotate(
            short(word),
            place,
            xytext=(72 * APART * right, 72 * APART * up),
            textcoords="offset points",
            ha=("right", "center", "left")[right + 1],
            va=("top", "center", "bottom")[up + 1],
            fontsize=9,
        )
    return figure


def principal_axes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project rows (N, D) onto the two axes along which they differ most.

    Returns:
        (N, 2), and the share of the variance along each axis (2,). The sign of an axis is such that its farthest row is
        on the positive side.
    """
    centred = rows - rows.mean(axis=0)
    left, strengths, _ = np.linalg.svd(centred, full_matrices=False)
    places = np.zeros((len(rows), 2))
    found = min(2, len(strengths))
    places[:, :found] = left[:, :found] * strengths[:found]
    places *= np.where(places.max(axis=0) < -places.min(axis=0), -1, 1)
    shares = np.zeros(2)
    shares[:found] = strengths[:found] ** 2 / max((strengths**2).sum(), np.finfo("float32").tiny)
    return places, shares


def _sides(words: Sequence[str], dots: np.ndarray) -> list[tuple[int, int]]:
    """Choose for each word a side of its dot on which it hides little of other words and dots."""
    points = np.concatenate([dots - APART, dots + APART], axis=1)
    boxes = np.array(
        [[_box(width_of([word]), dot, side) for side in SIDES] for word, dot in zip(words, dots, strict=True)]
    )
    chosen = np.zeros(len(words), int)
    for number in [*range(len(words))] * ROUNDS:
        standing = np.delete(boxes[np.arange(len(words)), chosen], number, axis=0)
        others = np.concatenate([standing, np.delete(points, number, axis=0)])
        chosen[number] = np.argmin([_hidden(box, others) for box in boxes[number]])
    return [SIDES[side] for side in chosen]


def _box(width: float, dot: np.ndarray, side: tuple[int, int]) -> np.ndarray:
    """Return the box of a word at a side of its dot: left, bottom, right, top, in inches."""
    size = np.array([width, LINE])
    middle = dot + np.array(side) * (size / 2 + APART)
    return np.concatenate([middle - size / 2, middle + size / 2])


def _hidden(box: np.ndarray, others: np.ndarray) -> float:
    overlap = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    return float(np.prod(np.maximum(overlap, 0), axis=1).sum())
