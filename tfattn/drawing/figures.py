"""Matplotlib figures in the style of reports, as SVG, PNG or PDF files, and heat maps.

Figures are made without pyplot: there is no global state, and no display is needed. Text is drawn unchanged, so a label
may have `$` or `_`.
"""

import functools
import io
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib
import numpy as np
from matplotlib import cycler, font_manager
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tfattn.drawing.colours import INK, LINE, PAPER, SERIES, SOFT
from tfattn.drawing.svg import Canvas, write_svg

# Text is measured in DejaVu, which matplotlib includes; the other fonts are used for PNG files if they are installed.
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "PingFang SC", "Microsoft YaHei", "Noto Sans")
MAX_CHARACTERS = 28  # of a name; a wide character counts as two
CHARACTER_WIDTH = 0.085  # inches
STYLE = {
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.facecolor": PAPER,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "svg.fonttype": "none",
    "svg.hashsalt": "tfattn",
}


def styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function so that it draws in this style; the settings of matplotlib are otherwise unchanged."""

    @functools.wraps(draw)
    def styled(*args: Any, **options: Any) -> Any:
        installed = set(font_manager.get_font_names())
        with matplotlib.rc_context({**STYLE, "font.family": [font for font in FONTS if font in installed]}):
            return draw(*args, **options)

    return styled


@styled
def svg(figure: Figure) -> str:
    """Convert a figure to SVG; text stays text, in the fonts of the reader."""
    return write_svg(figure)


@styled
def png(figure: Figure) -> bytes:
    """Convert a figure to PNG, with twice the pixels of a page for dense screens and paper.

    Characters without an installed font are drawn as boxes.
    """
    return _saved(figure, "png")


@styled
def pdf(figure: Figure) -> bytes:
    """Convert a figure to PDF; characters without an installed font are drawn as boxes."""
    return _saved(figure, "pdf")


# Conversions by suffix of the file name.
FORMATS: dict[str, Callable[[Figure], bytes]] = {
    ".png": png,
    ".svg": lambda figure: svg(figure).encode("utf-8"),
    ".pdf": pdf,
}


def _saved(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(buffer, format=kind, dpi=192, facecolor="white")
    return buffer.getvalue()


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, width and height in inches, with a layout without overlaps."""
    figure = Figure(figsize=(width, height), layout="constrained")
    Canvas(figure)
    return figure


def shades(colour: str, *, strongest: float = 0.9) -> ListedColormap:
    """Make a colour map from transparent to a colour with the opacity `strongest`."""
    return ListedColormap([(*to_rgb(colour), strongest * step / 255) for step in range(256)])


def short(name: str) -> str:
    """Shorten a name to one line by removing its middle, because long names often differ at their ends."""
    name = " ".join(name.split())
    if _characters(name) <= MAX_CHARACTERS:
        return name
    start, end = 0, len(name)
    while _characters(name[: start + 1]) <= 17:
        start += 1
    while _characters(name[end - 1 :]) <= 10:
        end -= 1
    return f"{name[:start]}…{name[end:]}"


def text_width(names: Iterable[str]) -> float:
    """Estimate the width in inches of the longest name, after `short`."""
    return CHARACTER_WIDTH * max((_characters(short(name)) for name in names), default=0)


def _characters(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


DARK_CELL = 0.8  # fraction of the highest value from which text on a cell has the colour of paper
SCALE_STEPS = 10
SCALE_WIDTH = 0.15  # inches


def heat(axes: Axes, values: np.ndarray, colour: str, *, highest: float) -> QuadMesh:
    """Draw values (L, S) from 0 to `highest` as cells, the first row on top; masked values stay empty."""
    rows, columns = values.shape
    cells = axes.pcolormesh(
        np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5, values, cmap=shades(colour), vmin=0, vmax=highest
    )
    axes.set_ylim(rows - 0.5, -0.5)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(columns - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(rows - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=PAPER, linewidth=1.5)
    axes.set_axisbelow(False)  # the lines between the cells
    axes.tick_params(which="both", length=0)
    return cells


def scale(cells: QuadMesh, axes: Axes, label: str, *, percent: bool = False) -> None:
    """Draw the colour scale next to the cells, with a label; `percent` shows percentages."""
    highest, height = cells.norm.vmax, 0.75 * axes.figure.get_figheight()
    bar = axes.figure.colorbar(
        cells,
        ax=axes,
        boundaries=np.linspace(0, highest, SCALE_STEPS + 1),
        shrink=0.75,
        aspect=height / SCALE_WIDTH,
        pad=0.02,
    )
    bar.locator = MaxNLocator(5)
    bar.formatter = PercentFormatter(xmax=1) if percent else bar.formatter
    bar.update_ticks()
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=9)
    bar.set_label(label, fontsize=9)
