"""Pictures of results, each a matplotlib figure that `png` turns into bytes.

Figures are made without pyplot: nothing is global, and no display is needed. Text is drawn as it is, so a label may
hold `$` or `_`; fonts for other scripts are used where the machine has them.
"""

import functools
import io
import math
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator, PercentFormatter

INK, GREY, LINE = "#1f2933", "#7b8794", "#d9dee4"
BLUE, ORANGE, GREEN, RED, PURPLE = "#2f6db5", "#e08a1e", "#4f8a4b", "#c4453c", "#7a5ba6"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, RED)
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "PingFang SC", "Microsoft YaHei", "Noto Sans")

MOST_CONFUSED = 24  # labels that a confusion chart shows one by one
MOST_BARS = 40


def _styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draws in the style of the house, without changing matplotlib's settings for others."""

    @functools.wraps(draw)
    def styled(*args: Any, **options: Any) -> Figure:
        installed = set(font_manager.get_font_names())
        style = {
            "font.family": [font for font in FONTS if font in installed],
            "font.size": 10,
            "text.color": INK,
            "axes.labelcolor": GREY,
            "axes.edgecolor": LINE,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": LINE,
            "grid.linewidth": 0.7,
            "xtick.color": GREY,
            "ytick.color": GREY,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "legend.frameon": False,
        }
        with matplotlib.rc_context(style):
            figure = draw(*args, **options)
        for text in figure.findobj(Text):
            text.set_parse_math(False)
        return figure

    return styled


def png(figure: Figure) -> bytes:
    """The figure as a PNG file, sharp enough for a page at half its size in pixels."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150, facecolor="white")
    return buffer.getvalue()


@_styled
def training_curves(history: Sequence[dict[str, Any]]) -> Figure:
    """Loss, validation metrics and learning rate over the epochs, from the lines of history.jsonl.

    Draws what is there: `loss` and `validation_loss` in one panel, the validation metrics that are shares (0 to 1) in
    the next, any other metric in one of its own, then `learning_rate`.
    """
    panels = _panels(history)
    figure = _figure(3.9 * max(2, len(panels)), 3.1)
    epochs = [line["epoch"] for line in history]
    for place, (title, names) in enumerate(panels.items()):
        axes = figure.add_subplot(1, max(2, len(panels)), place + 1)
        for name, colour in zip(names, SERIES, strict=False):
            values = [line.get(name, math.nan) for line in history]
            shown = "training" if name == "loss" else name.removeprefix("validation_").replace("_", " ")
            shown = "validation" if name == "validation_loss" else shown
            axes.plot(epochs, values, color=colour, marker="o", markersize=3.5, linewidth=1.8, label=shown)
        axes.set_title(title)
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))
        if len(epochs) == 1:
            axes.set_xlim(epochs[0] - 1, epochs[0] + 1)
        if len(names) > 1:
            axes.legend(fontsize=9)
        if title == "Validation":
            axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    return figure


def _panels(history: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    names = list(dict.fromkeys(name for line in history for name in line))
    losses = [name for name in ("loss", "validation_loss") if name in names]
    metrics = [name for name in names if name.startswith("validation_") and name not in losses]
    shares = [name for name in metrics if all(0 <= line.get(name, 0) <= 1 for line in history)]
    panels = {"Loss": losses, "Validation": shares[: len(SERIES)]}
    panels |= {name.removeprefix("validation_"): [name] for name in metrics if name not in shares}
    panels["Learning rate"] = [name for name in names if name == "learning_rate"]
    return {title: inside for title, inside in panels.items() if inside}


@_styled
def confusion(counts: np.ndarray, labels: Sequence[str]) -> Figure:
    """Counts and shares of the row, true labels down and given labels across; darker is more of the row.

    Of very many labels, those with the most mistakes are shown one by one, the others as one.
    """
    counts, labels = _most_confused(counts, labels)
    size = len(labels)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    longest = min(28, max(map(len, labels)))
    cell = 1.0 if size <= 6 else max(0.46, 6.0 / size)
    figure = _figure(1.3 + 0.085 * longest + cell * size, 1.1 + 0.055 * longest + cell * size)
    axes = figure.add_subplot()
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    # Right answers are blue, mistakes orange: the eye needs no legend.
    mistakes = np.ma.array(shares, mask=np.eye(size, dtype=bool))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.25)
    axes.imshow(mistakes, cmap="Oranges", vmin=0, vmax=0.9)
    for row, column in np.ndindex(size, size):
        if counts[row, column]:
            strong = shares[row, column] > (0.75 if row == column else 0.55)
            text = f"{counts[row, column]:,}" + (f"\n{shares[row, column]:.0%}" if size <= 12 else "")
            colour = "white" if strong else INK
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=10 if size <= 12 else 8)
    axes.set_xticks(range(size), map(_short, labels), rotation=35 if longest > 6 or size > 6 else 0, ha="right" if longest > 6 or size > 6 else "center", rotation_mode="anchor")
    axes.set_yticks(range(size), map(_short, labels))
    axes.set_xticks(np.arange(size - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(size - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0)
    axes.set_xlabel("given label")
    axes.set_ylabel("true label")
    return figure


def _most_confused(counts: np.ndarray, labels: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    if len(labels) <= MOST_CONFUSED + 1:
        return counts, list(labels)
    mistakes = counts.sum(axis=0) + counts.sum(axis=1) - 2 * counts.diagonal()
    kept = np.sort(np.argsort(-mistakes, kind="stable")[:MOST_CONFUSED])
    group = np.full(len(labels), MOST_CONFUSED)
    group[kept] = np.arange(MOST_CONFUSED)
    folded = np.zeros((MOST_CONFUSED + 1, MOST_CONFUSED + 1), dtype=counts.dtype)
    np.add.at(folded, (group[:, None], group[None, :]), counts)
    return folded, [*(labels[number] for number in kept), f"{len(labels) - MOST_CONFUSED} others"]


@_styled
def bars(values: dict[str, float], *, title: str = "", note: dict[str, str] | None = None) -> Figure:
    """A horizontal bar per name for values between 0 and 1, best first; of very many names, the worst are shown.

    Args:
        values: the value of each name.
        title: stands above the bars.
        note: a few words behind the value of a name, such as its number of rows.
    """
    ranked = sorted(values.items(), key=lambda one: -one[1])[-MOST_BARS:]
    longest = min(28, max(len(name) for name, _ in ranked))
    figure = _figure(5.2 + 0.085 * longest, 0.8 + 0.36 * len(ranked))
    axes = figure.add_subplot()
    axes.barh(range(len(ranked)), [value for _, value in ranked], color=BLUE, height=0.66)
    for place, (name, value) in enumerate(ranked):
        behind = f"{value:.1%}" + (f"  {note[name]}" if note else "")
        axes.text(value + 0.012, place, behind, va="center", fontsize=9, color=INK)
    axes.set_yticks(range(len(ranked)), [_short(name) for name, _ in ranked])
    axes.set_xlim(0, 1.3 if note else 1.15)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.invert_yaxis()
    hidden = len(values) - len(ranked)
    axes.set_title(f"{title} (the {hidden} best are not shown)" if hidden else title)
    return figure


@_styled
def reliability(groups: Sequence[tuple[int, float, float]]) -> Figure:
    """Shares of right answers against the scores that were given, from `metrics.calibration`; larger dots, more rows."""
    figure = _figure(4.6, 4.0)
    axes = figure.add_subplot()
    rows, scores, shares = (np.array(column) for column in zip(*groups, strict=True))
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="as sure as right")
    axes.plot(scores, shares, color=BLUE, linewidth=1.2, alpha=0.6)
    axes.scatter(scores, shares, s=25 + 400 * rows / rows.sum(), color=BLUE, zorder=3, clip_on=False)
    for count, score, share in groups:
        axes.annotate(f"{count:,}", (score, share), xytext=(0, -15), textcoords="offset points", ha="center", fontsize=8, color=GREY)
    axes.set_xlim(min(0.95, scores.min()) - 0.05, 1.02)
    axes.set_ylim(0, 1.05)
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.set_xlabel("score of the given label (rows below the dot)")
    axes.set_ylabel("share of right answers")
    axes.legend(fontsize=9, loc="lower right")
    return figure


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}…"
