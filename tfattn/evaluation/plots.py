"""Plots of training curves, labels, calibration and alignments."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from tfattn.drawing.colours import BLUE, GROUND, INK, ORANGE, PAPER, SERIES, SOFT
from tfattn.drawing.figures import DARK_CELL, heat, new_figure, scale, short, styled, text_width
from tfattn.evaluation.wording import number
from tfattn.tasks.intervals import wilson

MAX_CONFUSED = 19  # labels in a confusion matrix
MAX_WRITTEN = 12  # labels in a confusion matrix with fractions in its cells; larger ones have a colour scale
MAX_BARS = 25
CELL = 0.34  # inches, of an alignment
MAX_TOKENS = 60  # of a side of an alignment
CHARACTERS = 24  # of the numbers below a curve, with a space after each
FRACTIONS = "Validation"  # the title of the metrics between 0 and 1
NO_FRACTIONS = ("_per_byte", "_error", "perplexity")  # suffixes of metrics that are no fractions even below 1


def plain_numbers() -> FuncFormatter:
    """Return a formatter for axis ticks without powers of ten."""
    return FuncFormatter(lambda value, index: number(value))


@styled
def training_curves(history: Sequence[dict[str, Any]], baselines: Mapping[str, float] | None = None) -> list[Figure]:
    """Plot loss, validation metrics and learning rate over epochs, or over steps where an epoch has several lines.

    Figures: `loss` and `validation_loss`; validation metrics that are fractions (0 to 1); every other metric; and
    `learning_rate`. Baselines are dashed lines.
    """
    return [_curves(history, title, names, baselines or {}) for title, names in _panels(history).items()]


def _curves(
    history: Sequence[dict[str, Any]], title: str, names: Sequence[str], baselines: Mapping[str, float]
) -> Figure:
    figure = new_figure(2.9, 2.6)
    axes = figure.add_subplot()
    axis = "epoch" if len({line["epoch"] for line in history}) == len(history) else "step"
    positions = [line[axis] for line in history]
    for name, colour in zip(names, SERIES, strict=False):
        values = [line.get(name, math.nan) for line in history]
        shown = "training" if name == "loss" else name.removeprefix("validation_").replace("_", " ")
        shown = "validation" if name == "validation_loss" else shown
        axes.plot(positions, values, color=colour, marker="o", markersize=3.5, linewidth=1.8, label=shown)
        if (baseline := baselines.get(name.removeprefix("validation_"))) is not None and name != "loss":
            axes.axhline(baseline, color=colour, linewidth=1, linestyle="--", label=f"{shown}: baseline")
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1) if title == FRACTIONS else plain_numbers())
    axes.set_title(title.replace("_", " "))
    axes.set_xlabel(axis)
    max_ticks = CHARACTERS // (1 + len(str(max(positions))))  # that fit
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(8, max(2, max_ticks)), min_n_ticks=1))
    if len(positions) == 1:
        axes.set_xlim(positions[0] - 1, positions[0] + 1)
    if len(axes.lines) > 1 or title == FRACTIONS:
        axes.legend(fontsize=9)
    return figure


def _panels(history: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    names = list(dict.fromkeys(name for line in history for name in line))
    losses = [name for name in ("loss", "validation_loss") if name in names]
    metrics = [name for name in names if name.startswith("validation_") and name not in losses]
    metrics = [name for name in metrics if not name.endswith(("_low", "_high"))]  # the ends of intervals
    fractions = [name for name in metrics if all(0 <= line.get(name, 0) <= 1 for line in history)]
    fractions = [name for name in fractions if not name.endswith(NO_FRACTIONS)]
    panels = {"Loss": losses, FRACTIONS: fractions[: len(SERIES)]}
    panels |= {name.removeprefix("validation_"): [name] for name in metrics if name not in fractions}
    panels["Learning rate"] = [name for name in names if name == "learning_rate"]
    return {title: inside for title, inside in panels.items() if inside}


@styled
def confusion(counts: np.ndarray, labels: Sequence[str]) -> Figure:
    """Plot a confusion matrix: counts and fractions of each row, true labels down, predicted labels across.

    Of more than MAX_CONFUSED labels, those with the fewest errors are merged.
    """
    known = len(labels)
    counts, labels = _most_confused(counts, labels)
    size = len(labels)
    fractions = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    written = size <= MAX_WRITTEN
    longest = text_width(labels)
    cell = 0.9 if size <= 6 else max(0.36, 5.4 / size)
    width = 1.2 + longest + cell * size + (0 if written else 1.5)
    figure = new_figure(width, 1.0 + 0.65 * longest + cell * size)
    axes = figure.add_subplot()
    axes.set_facecolor(GROUND)
    # Blue is correct, orange is wrong.
    right = np.eye(size, dtype=bool)
    plain = counts == 0
    apart = 0.09 / cell if written else 0.0  # of a cell: distance of count and fraction from its center
    plain[-1, -1] |= size < known  # the merged labels have correct and wrong predictions
    kinds = {"wrong": (ORANGE, right | plain), "right": (BLUE, ~right | plain)}
    for kind, (colour, hidden) in kinds.items():
        drawn = heat(axes, np.ma.array(fractions, mask=hidden), colour, highest=1.0)
        if not written:
            scale(drawn, axes, f"{kind}, fraction of the true label", percent=True)
    for row, column in np.ndindex(size, size):
        if counts[row, column]:
            strong = not plain[row, column] and fractions[row, column] > DARK_CELL
            look: dict[str, Any] = {"ha": "center", "color": PAPER if strong else INK, "fontsize": 10 if written else 8}
            axes.text(column, row - apart, f"{counts[row, column]:,}", va="center", **look)
            if written:
                axes.text(column, row + apart, f"{fractions[row, column]:.0%}", va="center", **look)
    names = [short(label) for label in labels]
    slanted = {"rotation": 38, "ha": "right", "rotation_mode": "anchor"} if longest > 0.85 * cell else {}
    axes.set_xticks(range(size), names, **slanted)
    axes.set_yticks(range(size), names)
    axes.set_xlabel("predicted label")
    axes.set_ylabel("true label")
    return figure


def _most_confused(counts: np.ndarray, labels: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    if len(labels) <= MAX_CONFUSED + 1:
        return counts, list(labels)
    mistakes = counts.sum(axis=0) + counts.sum(axis=1) - 2 * counts.diagonal()
    kept = np.sort(np.argsort(-mistakes, kind="stable")[:MAX_CONFUSED])
    group = np.full(len(labels), MAX_CONFUSED)
    group[kept] = np.arange(MAX_CONFUSED)
    folded = np.zeros((MAX_CONFUSED + 1, MAX_CONFUSED + 1), dtype=counts.dtype)
    np.add.at(folded, (group[:, None], group[None, :]), counts)
    return folded, [*(labels[number] for number in kept), f"{len(labels) - MAX_CONFUSED} others"]


@styled
def bars(
    values: dict[str, float],
    *,
    title: str = "",
    notes: dict[str, str] | None = None,
    ranked: bool = True,
    percent: bool = True,
) -> Figure:
    """Plot a horizontal bar per name for values between 0 and 1; at most MAX_BARS, the last ones.

    Args:
        values: the value of each name.
        title: above the bars.
        notes: text after the value of a name, such as its number of rows.
        ranked: whether to sort by value, the best first.
        percent: whether to format values as percentages; else as points of 100, as for BLEU.
    """
    sign = "%" if percent else ""
    shown = sorted(values.items(), key=lambda item: -item[1] if ranked else 0)[-MAX_BARS:]
    figure = new_figure(4.4 + text_width(name for name, _ in shown), 0.8 + 0.36 * len(shown))
    axes = figure.add_subplot()
    axes.barh(range(len(shown)), [value for _, value in shown], color=BLUE, height=0.66)
    for index, (name, value) in enumerate(shown):
        end_text = f"{100 * value:.1f}{sign}" + (f"  {notes[name]}" if notes else "")
        axes.text(value + 0.012, index, end_text, va="center", fontsize=9, color=INK)
    axes.set_yticks(range(len(shown)), [short(name) for name, _ in shown])
    axes.set_ylim(len(shown) - 0.5, -0.6)  # the first on top
    axes.set_xlim(0, 1.3 if notes else 1.15)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=sign))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    hidden = len(values) - len(shown)
    left_out = f"{hidden} {'best' if ranked else 'first'}"
    axes.set_title(f"{title} (the {left_out} are not shown)" if hidden else title)
    return figure


@styled
def reliability(
    groups: Sequence[tuple[int, float, float]],
    *,
    score: str = "score of the predicted label",
    fraction: str = "fraction of correct predictions",
    diagonal: str = "perfect calibration",
    title: str = "",
) -> Figure:
    """Plot the fractions of correct predictions against their scores, with intervals, from `metrics.calibration`.

    Args:
        groups: rows, mean score and fraction of each group.
        score, fraction, diagonal: labels of the axes and of the identity line.
        title: the title of the plot.
    """
    figure = new_figure(4.6, 3.8)
    axes = figure.add_subplot()
    _, scores, fractions = (np.array(column) for column in zip(*groups, strict=True))
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1, linestyle="--", label=diagonal)
    intervals = np.array([wilson(round(right * count), count) for count, _, right in groups]).T
    axes.vlines(scores, *intervals, color=BLUE, linewidth=2, alpha=0.35, label="95% interval")
    axes.scatter(scores, fractions, s=40, color=BLUE, zorder=3, clip_on=False)
    for count, *index in groups:
        axes.annotate(
            f"{count:,}",
            index,
            xytext=(-7, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9,
        )
    axes.set_xlim(min(0.9, scores.min()) - 0.08, 1.02)
    axes.set_ylim(-0.03, 1.03)
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.set_xlabel(f"{score} (labels: number of predictions)")
    axes.set_ylabel(fraction)
    axes.set_title(title)
    axes.legend(fontsize=9, loc="lower right")
    return figure


@styled
def alignment(weights: np.ndarray, source: Sequence[str], written: Sequence[str], *, title: str = "") -> Figure:
    """Plot alignment weights as a heat map, source tokens across and generated tokens down.

    Args:
        weights: (L, S) from 0 to 1, a row per generated token.
        source: S tokens.
        written: L tokens.
        title: the title of the plot.

    Source: Bahdanau et al. 2015, figure 3.
    """
    weights, source, written = weights[:MAX_TOKENS, :MAX_TOKENS], source[:MAX_TOKENS], written[:MAX_TOKENS]
    height = 0.9 + text_width(source) + CELL * len(written)
    figure = new_figure(2.3 + text_width(written) + CELL * len(source), max(2.2, height))
    axes = figure.add_subplot()
    cells = heat(axes, weights, BLUE, highest=max(1e-9, float(weights.max(initial=0))))
    scale(cells, axes, "weight")
    axes.set_xticks(range(len(source)), map(short, source), rotation=90)
    axes.set_yticks(range(len(written)), map(short, written))
    axes.xaxis.tick_top()
    axes.tick_params(which="both", length=0)
    if title:
        axes.set_title(title)
    return figure
