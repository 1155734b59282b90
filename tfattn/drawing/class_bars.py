"""Bars of the rows of each class, by split."""

from matplotlib.figure import Figure

from tfattn.drawing.colours import SERIES
from tfattn.drawing.figures import new_figure, short, styled, text_width

MAX_PLOTTED_CLASSES = 40


@styled
def class_bars(classes: dict[str, dict[str, int]]) -> Figure:
    """Draw a stacked bar per class, by split, for the first MAX_PLOTTED_CLASSES classes.

    Args:
        classes: for each class, rows per split, in the order of the bars.
    """
    shown = dict(list(classes.items())[:MAX_PLOTTED_CLASSES])
    splits = list(next(iter(shown.values())))
    figure = new_figure(5.8 + text_width(shown), 1.4 + 0.34 * len(shown))
    axes = figure.add_subplot()
    left = [0] * len(shown)
    for split, colour in zip(splits, SERIES, strict=False):
        rows = [counts[split] for counts in shown.values()]
        axes.barh(range(len(shown)), rows, left=left, color=colour, label=split, height=0.7)
        left = [start + width for start, width in zip(left, rows, strict=True)]
    for index, width in enumerate(left):
        axes.annotate(f"{width:,}", (width, index), (4, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(range(len(shown)), [short(name) for name in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)  # the first on top
    axes.margins(x=0.1)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("rows")
    left_out = len(classes) - len(shown)
    axes.set_title(f"Rows per class{f' ({left_out} rarer classes are not shown)' if left_out else ''}")
    figure.legend(loc="outside upper right", ncols=len(splits))
    return figure
