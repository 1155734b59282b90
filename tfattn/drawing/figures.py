"""Matplotlib figures in one style, and `svg`, `png` or `pdf` files of them.

Figures are made without pyplot: nothing is global, and no display is needed. Text is drawn as it is, so a label may
hold `$` or `_`.
"""

import functools
import io
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib
from matplotlib import cycler, font_manager
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure

from tfattn.drawing.colours import INK, LINE, PAPER, SERIES, SOFT
from tfattn.drawing.svg import Canvas, write_svg

# Text is measured in DejaVu, which comes with matplotlib; the others are used for PNG files where they are installed.
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "PingFang SC", "Microsoft YaHei", "Noto Sans")
MOST_CHARACTERS = 28  # of a name; a wide one counts as two
CHARACTER = 0.085  # inches
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
    """Decorate a function to draw in our style, without changing matplotlib's settings for others."""

    @functools.wraps(draw)
    def styled(*args: Any, **options: Any) -> Any:
        installed = set(font_manager.get_font_names())
        with matplotlib.rc_context({**STYLE, "font.family": [font for font in FONTS if font in installed]}):
            return draw(*args, **options)

    return styled


@styled
def svg(figure: Figure) -> str:
    """Write the figure as an SVG file, in which text stays text, shown in the fonts of the reader."""
    return write_svg(figure)


@styled
def png(figure: Figure) -> bytes:
    """Write the figure as a PNG file of twice the pixels of a page, so that it stays sharp on dense screens and paper.

    A script that no font of this machine has is drawn as boxes; an SVG file is shown in the fonts of the reader.
    """
    return _saved(figure, "png")


@styled
def pdf(figure: Figure) -> bytes:
    """Write the figure as a PDF file; scripts without a font are drawn as in a PNG file."""
    return _saved(figure, "pdf")


# The functions that write files, by the suffix of the file's name.
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
    """Make an empty figure, width and height in inches, whose parts are laid out without overlaps."""
    figure = Figure(figsize=(width, height), layout="constrained")
    Canvas(figure)
    return figure


def shades(colour: str, *, strongest: float = 0.9) -> ListedColormap:
    """Make a colour map from transparent to nearly the full colour (`strongest` is its opacity, 0.9 by default)."""
    return ListedColormap([(*to_rgb(colour), strongest * step / 255) for step in range(256)])


def short(name: str) -> str:
    """Shorten a name to one line by removing its middle: long names often differ only at their ends."""
    name = " ".join(name.split())
    if _characters(name) <= MOST_CHARACTERS:
        return name
    start, end = 0, len(name)
    while _characters(name[: start + 1]) <= 17:
        start += 1
    while _characters(name[end - 1 :]) <= 10:
        end -= 1
    return f"{name[:start]}…{name[end:]}"


def width_of(names: Iterable[str]) -> float:
    """Estimate the width in inches of the longest of some names, shortened by `short`."""
    return CHARACTER * max((_characters(short(name)) for name in names), default=0)


def _characters(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
