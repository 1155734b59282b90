"""Plots of training and of labels."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from tfattn.drawing.colours import BLUE, GROUND, INK, ORANGE, PAPER, SERIES, SOFT
from tfattn.drawing.figures import new_figure, short, styled, width_of
from tfattn.drawing.heat import STRONG, heat, scale
from tfattn.evaluation.wording import number
from tfattn.tasks.intervals import wilson

MAX_CONFUSED = 19  # labels that a confusion chart shows one by one
MAX_WRITTEN = 12  # labels whose fractions a confusion chart writes; of more, it shows a scale
MAX_BARS = 25
CHARACTERS = 24  # of the numbers below a curve, with a space after each
FRACTIONS = "Validation"  # the title of the metrics between 0 and 1
NO_FRACTIONS = ("_per_byte", "_error", "perplexity")  # how metrics end that are none even where they are below 1


def plain_numbers() -> FuncFormatter:
    """Make a formatter of an axis that writes numbers out, where matplotlib would use a power of ten."""
    return FuncFormatter(lambda value, place: number(value))


@styled
def training_curves(history: Sequence[dict[str, Any]], baselines: Mapping[str, float] | None = None) -> list[Figure]:
    """Plot loss, validation metrics and learning rate over epochs, or over steps where an epoch has several lines.

    Draws what is there: `loss` and `validation_loss` in one figure, the validation metrics that are fractions (0 to 1)
    in the next, any other metric in one of its own, then `learning_rate`. Next to a metric is its baseline, what can
    be had without a model, where there is one.
    """
    return [_curves(history, title, names, baselines or {}) for title, names in _panels(history).items()]


def _curves(
    history: Sequence[dict[str, Any]], title: str, names: Sequence[str], baselines: Mapping[str, float]
) -> Figure:
    figure = new_figure(2.9, 2.6)
    axes = figure.add_subplot()
    axis = "epoch" if len({line["epoch"] for line in history}) == len(history) else "step"
    places = [line[axis] for line in history]
    for name, colour in zip(names, SERIES, strict=False):
        values = [line.get(name, math.nan) for line in history]
        shown = "training" if name == "loss" else name.removeprefix("validation_").replace("_", " ")
        shown = "validation" if name == "validation_loss" else shown
        axes.plot(places, values, color=colour, marker="o", markersize=3.5, linewidth=1.8, label=shown)
        if (baseline := baselines.get(name.removeprefix("validation_"))) is not None and name != "loss":
            axes.axhline(baseline, color=colour, linewidth=1, linestyle="--", label=f"{shown}: without a model")
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1) if title == FRACTIONS else plain_numbers())
    axes.set_title(title.replace("_", " "))
    axes.set_xlabel(axis)
    beside = CHARACTERS // (1 + len(str(max(places))))  # so many numbers have room
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=min(8, max(2, beside)), min_n_ticks=1))
    if len(places) == 1:
        axes.set_xlim(places[0] - 1, places[0] + 1)
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

    Of very many labels, those with the most mistakes are shown one by one, the others as one.
    """
    known = len(labels)
    counts, labels = _most_confused(counts, labels)
    size = len(labels)
    fractions = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    written = size <= MAX_WRITTEN
    longest = width_of(labels)
    cell = 0.9 if size <= 6 else max(0.36, 5.4 / size)
    width = 1.2 + longest + cell * size + (0 if written else 1.5)
    figure = new_figure(width, 1.0 + 0.65 * longest + cell * size)
    axes = figure.add_subplot()
    axes.set_facecolor(GROUND)
    # Right labels are blue, mistakes orange: the eye needs no legend.
    right = np.eye(size, dtype=bool)
    plain = counts == 0
    apart = 0.09 / cell if written else 0.0  # of a cell: how far from its middle count and fraction are
    plain[-1, -1] |= size < known  # among the others there is right and wrong
    kinds = {"wrong": (ORANGE, right | plain), "right": (BLUE, ~right | plain)}
    for kind, (colour, hidden) in kinds.items():
        drawn = heat(axes, np.ma.array(fractions, mask=hidden), colour, highest=1.0)
        if not written:
            scale(drawn, axes, f"{kind}, of the texts of a line", percent=True)
    for row, column in np.ndindex(size, size):
        if counts[row, column]:
            strong = not plain[row, column] and fractions[row, column] > STRONG
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
    """Plot a horizontal bar per name for values between 0 and 1; of very many names, the last are shown.

    Args:
        values: the value of each name.
        title: above the bars.
        notes: a few words after the value of a name, such as its number of rows.
        ranked: whether the best come first; else the order of the names stays.
        percent: whether values are fractions; else they are points of a hundred, as BLEU is given.
    """
    sign = "%" if percent else ""
    shown = sorted(values.items(), key=lambda one: -one[1] if ranked else 0)[-MAX_BARS:]
    figure = new_figure(4.4 + width_of(name for name, _ in shown), 0.8 + 0.36 * len(shown))
    axes = figure.add_subplot()
    axes.barh(range(len(shown)), [value for _, value in shown], color=BLUE, height=0.66)
    for place, (name, value) in enumerate(shown):
        behind = f"{100 * value:.1f}{sign}" + (f"  {notes[name]}" if notes else "")
        axes.text(value + 0.012, place, behind, va="center", fontsize=9, color=INK)
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
) -> Figure:
    """Plot the fractions of correct predictions against their scores, with intervals, from `metrics.calibration`.

    Args:
        groups: rows, mean score and fraction of each group.
        score, fraction, diagonal: what to call the axes and the line on which both are equal.
    """
    figure = new_figure(5.2, 3.8)
    axes = figure.add_subplot()
    _, scores, fractions = (np.array(column) for column in zip(*groups, strict=True))
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1, linestyle="--", label=diagonal)
    intervals = np.array([wilson(round(right * count), count) for count, _, right in groups]).T
    axes.vlines(scores, *intervals, color=BLUE, linewidth=2, alpha=0.35, label="95% interval")
    axes.scatter(scores, fractions, s=40, color=BLUE, zorder=3, clip_on=False)
    for count, *place in groups:
        axes.annotate(
            f"{count:,}",
            place,
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
    axes.set_xlabel(f"{score} (next to the dots: how many)")
    axes.set_ylabel(fraction)
    axes.legend(fontsize=9, loc="lower right")
    return figure
