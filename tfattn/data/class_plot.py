"""The class distribution as a picture."""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = ("#3b6ea5", "#e0a030", "#7a9a5b")
MOST_CLASSES = 40


def draw_classes(classes: dict[str, dict[str, int]], path: Path) -> None:
    """Draws a bar per class, divided by split; the most frequent come first, and of very many only those are drawn.

    Args:
        classes: for each class, rows per split, in the order in which they are to be drawn.
        path: the PNG file.
    """
    shown = dict(list(classes.items())[:MOST_CLASSES])
    splits = list(next(iter(shown.values())))
    figure = Figure(figsize=(8, 1.4 + 0.34 * len(shown)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    left = [0] * len(shown)
    for split, colour in zip(splits, COLOURS, strict=False):
        rows = [counts[split] for counts in shown.values()]
        axes.barh(range(len(shown)), rows, left=left, color=colour, label=split)
        left = [start + width for start, width in zip(left, rows, strict=True)]
    for place, width in enumerate(left):
        axes.text(width, place, f" {width:,}", va="center", fontsize=9)
    axes.set_yticks(range(len(shown)), [name if len(name) <= 40 else f"{name[:39]}…" for name in shown])
    for name in axes.get_yticklabels():
        name.set_parse_math(False)  # a class may be called "$5"
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set_xlabel("rows")
    left_out = len(classes) - len(shown)
    axes.set_title(f"Rows per class{f' ({left_out} rarer classes are not shown)' if left_out else ''}", loc="left")
    figure.legend(loc="outside upper right", ncols=len(splits), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
