"""Plots of predictions for the rows of a table."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from tfattn.drawing.colours import BLUE, INK, ORANGE, PAPER, PURPLE, SERIES, SOFT
from tfattn.drawing.figures import new_figure, short, styled, width_of
from tfattn.evaluation import plots

MAX_COLUMNS = 30  # whose importance a chart shows
MAX_SPREADS = 12  # features whose values a chart shows
MARK = {"s": 75, "color": ORANGE, "edgecolor": PAPER, "zorder": 4, "clip_on": False}  # where labels are given


@styled
def roc(scores: np.ndarray, positive: np.ndarray, point: tuple[float, float], *, words: str) -> Figure:
    """Plot the ROC curve with the operating point; a curve that is close to its corner is enlarged there in an inset.

    Args:
        scores: (N,) of the positive label.
        positive: (N,) bool, which rows are positive; there must be rows of both kinds.
        point: the false and the true positive rate at the operating point.
        words: the legend of the point.
    """
    alarms, found, _ = roc_curve(positive, scores, drop_intermediate=False)
    area = roc_auc_score(positive, scores)
    figure, axes = _square()
    axes.plot([0, 1], [0, 1], color=SOFT, linewidth=1, linestyle="--", label="chance")
    axes.plot(alarms, found, color=BLUE, linewidth=2, clip_on=False)
    axes.scatter(*point, label=words, **MARK)
    axes.set_title(f"ROC curve: area {area:.4f}")
    axes.set_xlabel("others taken for positive (1 - specificity)")
    axes.set_ylabel("positive found (sensitivity)")
    axes.legend(fontsize=9, loc="lower right")
    if area > 0.95:
        _corner(axes, alarms, found, point)
    return figure


@styled
def precision_recall(scores: np.ndarray, positive: np.ndarray, point: tuple[float, float], *, words: str) -> Figure:
    """Plot the precision-recall curve with the operating point.

    Args:
        scores, positive, words: as for `roc`.
        point: recall and precision at the operating point.
    """
    precisions, recalls, _ = precision_recall_curve(positive, scores)
    figure, axes = _square()
    axes.axhline(positive.mean(), color=SOFT, linewidth=1, linestyle="--", label="chance")
    axes.plot(recalls, precisions, drawstyle="steps-post", color=BLUE, linewidth=2, clip_on=False)
    axes.scatter(*point, label=words, **MARK)
    axes.set_title(f"Precision and recall: mean {average_precision_score(positive, scores):.4f}")
    axes.set_xlabel("positive found (recall)")
    axes.set_ylabel("positive among the found (precision)")
    axes.legend(fontsize=9, loc="lower left" if max(point) > 0.5 else "upper right")
    return figure


def _square() -> tuple[Figure, Axes]:
    figure = new_figure(4.3, 4.0)
    axes = figure.add_subplot()
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    return figure, axes


def _corner(axes: Axes, alarms: np.ndarray, found: np.ndarray, point: tuple[float, float]) -> None:
    size = min(0.5, max(0.1, 1.3 * point[0], 1.3 * (1 - point[1])))
    inside = axes.inset_axes((0.42, 0.3, 0.46, 0.46))
    inside.plot(alarms, found, color=BLUE, linewidth=2)
    inside.scatter(*point, **MARK)
    inside.set_xlim(-0.04 * size, size)
    inside.set_ylim(1 - size, 1 + 0.04 * size)
    inside.xaxis.set_major_locator(MaxNLocator(3))
    inside.yaxis.set_major_locator(MaxNLocator(3))
    inside.xaxis.set_major_formatter(PercentFormatter(xmax=1))
    inside.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    inside.tick_params(labelsize=8)
    inside.spines[:].set_visible(True)
    inside.set_title("the corner", fontsize=9, fontweight="normal")


@styled
def importances(
    columns: Sequence[str],
    importances: np.ndarray,
    interval: tuple[np.ndarray, np.ndarray],
    *,
    loss: str,
    members: np.ndarray | None = None,
    attention: np.ndarray | None = None,
) -> Figure:
    """Plot a bar per column for the rise of the loss without it and, in a second panel, one for the attention to it.

    Both panels show the columns in one order, the most important first; of very many, the first are shown.

    Args:
        columns: K names.
        importances: (K,) mean rise of the loss.
        interval: (K,) and (K,), the ends of their intervals.
        loss: its name.
        members: (M, K) the same of each member of an ensemble, drawn as dots.
        attention: (K,) mean attention, which sums to 1.
    """
    order = np.argsort(-importances, kind="stable")[:MAX_COLUMNS]
    places, names = range(len(order)), [short(columns[number]) for number in order]
    figure = new_figure(5.6 + width_of(names) + (3.0 if attention is not None else 0), 1.4 + 0.29 * len(order))
    panels = figure.subplots(
        1, 1 if attention is None else 2, sharey=True, squeeze=False, width_ratios=[1] if attention is None else [5, 3]
    )[0]

    panels[0].barh(places, importances[order], color=BLUE, height=0.64)
    panels[0].hlines(places, interval[0][order], interval[1][order], color=INK, linewidth=1.6, label="95% interval")
    if members is not None:
        for one in members:
            panels[0].scatter(one[order], places, s=11, color=ORANGE, zorder=3, label="each member")
    lowest = min(0.0, interval[0].min(), *([] if members is None else [members.min()]))
    panels[0].axvline(0, color=SOFT, linewidth=1)
    panels[0].set_xlim(left=1.05 * lowest)
    hidden = len(columns) - len(order)
    panels[0].set_title("Shuffled" + (f" (the {hidden} least are not shown)" if hidden else ""))
    panels[0].set_xlabel(f"rise of the {loss}")
    panels[0].xaxis.set_major_locator(MaxNLocator(6))
    panels[0].xaxis.set_major_formatter(plots.plain_numbers())
    panels[0].set_yticks(places, names)
    panels[0].set_ylim(len(order) + 0.9, -0.6)  # the first on top, room for the legends below the last
    handles = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    panels[0].legend(handles.values(), handles.keys(), fontsize=9, loc="lower right")
    if attention is not None:
        panels[1].barh(places, attention[order], color=PURPLE, height=0.64)
        panels[1].axvline(1 / len(columns), color=SOFT, linewidth=1, linestyle="--", label="if all alike")
        panels[1].set_title("Looked at")
        panels[1].set_xlabel("mean attention")
        panels[1].xaxis.set_major_locator(MaxNLocator(5))
        panels[1].xaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
        panels[1].legend(fontsize=9, loc="lower right")
    for axes in panels:
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    return figure


@styled
def spreads(values: np.ndarray, kinds: np.ndarray, labels: Sequence[str]) -> Figure:
    """Plot the values of E features in the rows of each label, a panel per feature, as histograms of equal areas.

    Of very many features or labels, the first ones are shown. The outermost values are drawn at the edge, so that a
    few do not press all others together.

    Args:
        values: (N, E) the features.
        kinds: (N,) ids of the labels.
        labels: C names.
    """
    features = min(values.shape[1], MAX_SPREADS)
    across = min(features, 4)
    figure = new_figure(1.2 + 2.3 * max(2, across), 0.6 + 2.1 * math.ceil(features / across))
    panels = figure.subplots(math.ceil(features / across), across, squeeze=False).flat
    shown = [(number, label) for number, label in enumerate(labels) if np.any(kinds == number)][: len(SERIES)]
    faint = 0.3 if len(shown) <= 2 else 0.08  # many on top of each other would turn grey
    for number, axes in enumerate(panels):
        if number >= features:
            axes.set_visible(False)
            continue
        low, high = np.percentile(values[:, number], (0.5, 99.5))
        within = np.clip(values[:, number], low, high)
        edges = np.linspace(low, high, 25) if high > low else np.array([low - 0.5, low + 0.5])
        for (kind, label), colour in zip(shown, SERIES, strict=False):
            options = {"histtype": "stepfilled", "facecolor": (colour, faint), "edgecolor": colour, "linewidth": 1.4}
            axes.hist(within[kinds == kind], bins=edges, density=True, label=short(label), **options)
        axes.set_title(f"essential {number + 1}")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.grid(visible=False)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=9, loc="outside lower center", ncols=len(names))
    return figure
