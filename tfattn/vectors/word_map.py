"""A two-dimensional map of word vectors."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tfattn.drawing.colours import BLUE
from tfattn.drawing.figures import new_figure, short, styled, text_width
from tfattn.errors import ConfigError
from tfattn.vectors.word_vectors import WordVectors

MIN_WORDS = 3
MIN_HEIGHT = 4.0  # inches
ROUNDS = 3  # of label placement
LINE = 0.16  # the height of a line of text in inches
GAP = 0.06  # inches between a dot and its word
# Positions of a word next to its dot, the best first: right, left, above, below.
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


@styled
def word_map(vectors: WordVectors, words: Sequence[str]) -> Figure:
    """Draw words at the two principal components of their normalized vectors.

    Raises:
        ConfigError: there are too few words for a map.
        DataError: a word has no vector.
    """
    words = [*dict.fromkeys(words)]
    if len(words) < MIN_WORDS:
        raise ConfigError(
            "too few words for a map", expected=f"at least {MIN_WORDS} distinct words", received=f"{len(words)}"
        )
    points, shares = principal_axes(vectors.unit_vectors([vectors.index(word) for word in words]))
    width, height = np.ptp(points, axis=0)
    side = MIN_HEIGHT + 0.06 * len(words)
    figure = new_figure(side * np.clip(width / max(height, 1e-9), 1.0, 1.8), side)
    axes = figure.add_subplot()
    axes.scatter(*points.T, color=BLUE, s=18, zorder=3)
    # Equal scales show true distances; the position of zero has no meaning.
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.tick_params(labelbottom=False, labelleft=False, length=0)
    for axis, share, name in zip((axes.xaxis, axes.yaxis), shares, ("first", "second"), strict=True):
        axis.set_label_text(f"{name} main axis ({share:.0%} of the variance)")
    figure.get_layout_engine().execute(figure)
    axes.apply_aspect()
    inches = figure.dpi_scale_trans.inverted().transform(axes.transData.transform(points))
    for word, point, (right, up) in zip(words, points, _sides(words, inches), strict=True):
        axes.annotate(
            short(word),
            point,
            xytext=(72 * GAP * right, 72 * GAP * up),
            textcoords="offset points",
            ha=("right", "center", "left")[right + 1],
            va=("top", "center", "bottom")[up + 1],
            fontsize=9,
        )
    return figure


def principal_axes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project rows (N, D) onto their first two principal axes.

    Returns:
        (N, 2), and the share of the variance along each axis (2,). The farthest row of each axis is
        on the positive side.
    """
    centered = rows - rows.mean(axis=0)
    left, strengths, _ = np.linalg.svd(centered, full_matrices=False)
    points = np.zeros((len(rows), 2))
    found = min(2, len(strengths))
    points[:, :found] = left[:, :found] * strengths[:found]
    points *= np.where(points.max(axis=0) < -points.min(axis=0), -1, 1)
    shares = np.zeros(2)
    shares[:found] = strengths[:found] ** 2 / max((strengths**2).sum(), np.finfo("float32").tiny)
    return points, shares


def _sides(words: Sequence[str], dots: np.ndarray) -> list[tuple[int, int]]:
    """Choose a side of its dot for each word, with little overlap with other words and dots."""
    dot_boxes = np.concatenate([dots - GAP, dots + GAP], axis=1)
    boxes = np.array(
        [[_box(text_width([word]), dot, side) for side in SIDES] for word, dot in zip(words, dots, strict=True)]
    )
    chosen = np.zeros(len(words), int)
    for number in [*range(len(words))] * ROUNDS:
        placed = np.delete(boxes[np.arange(len(words)), chosen], number, axis=0)
        others = np.concatenate([placed, np.delete(dot_boxes, number, axis=0)])
        chosen[number] = np.argmin([_overlap(box, others) for box in boxes[number]])
    return [SIDES[side] for side in chosen]


def _box(width: float, dot: np.ndarray, side: tuple[int, int]) -> np.ndarray:
    """Return the box of a word at a side of its dot: left, bottom, right, top, in inches."""
    size = np.array([width, LINE])
    middle = dot + np.array(side) * (size / 2 + GAP)
    return np.concatenate([middle - size / 2, middle + size / 2])


def _overlap(box: np.ndarray, others: np.ndarray) -> float:
    overlap = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    return float(np.prod(np.maximum(overlap, 0), axis=1).sum())
