"""Plots of predictions for the rows of a table."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from tfattn.drawing.colours import BLUE, ORANGE, PAPER, SERIES, SOFT
from tfattn.drawing.figures import new_figure, short, styled

MAX_SPREADS = 12  # features in a plot
MARK = {"s": 75, "color": ORANGE, "edgecolor": PAPER, "zorder": 4, "clip_on": False}  # the operating point


@styled
def roc(scores: np.ndarray, positive: np.ndarray, point: tuple[float, float], *, words: str) -> Figure:
    """Plot the ROC curve with the operating point; curves near the corner get an enlarged inset.

    Args:
        scores: (N,) of the positive label.
        positive: (N,) bool, which rows are positive; both classes are required.
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
    axes.set_xlabel("false positive rate (1 - specificity)")
    axes.set_ylabel("true positive rate (sensitivity)")
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
    axes.set_xlabel("recall")
    axes.set_ylabel("precision")
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
    inside.set_title("enlarged", fontsize=9, fontweight="normal")


@styled
def spreads(values: np.ndarray, kinds: np.ndarray, labels: Sequence[str]) -> Figure:
    """Plot histograms of E features by label, a panel per feature, with equal areas.

    At most MAX_SPREADS features and a colour per label are shown. Outliers are clipped to the edges.

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
    faint = 0.3 if len(shown) <= 2 else 0.08  # overlapping areas would turn grey
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
