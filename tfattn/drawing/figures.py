"""How pictures look: each is a matplotlib figure in the style of the house; `svg`, `png` or `pdf` makes a file of it.

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

# With DejaVu, which comes with matplotlib, all is measured; the others serve PNG files where the machine has them.
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
    """Draws in the style of the house, without changing matplotlib's settings for others."""

    @functools.wraps(draw)
    def styled(*args: Any, **options: Any) -> Any:
        installed = set(font_manager.get_font_names())
        with matplotlib.rc_context({**STYLE, "font.family": [font for font in FONTS if font in installed]}):
            return draw(*args, **options)

    return styled


@styled
def svg(figure: Figure) -> str:
    """The figure as an SVG file, whose text is text: it is read, searched and shown in the fonts of its reader."""
    return write_svg(figure)


@styled
def png(figure: Figure) -> bytes:
    """The figure as a PNG file with twice the pixels of a page, so that it stays sharp on dense screens and paper.

    A script that no font of this machine has is drawn as boxes; an SVG file leaves the fonts to its reader.
    """
    return _saved(figure, "png")


@styled
def pdf(figure: Figure) -> bytes:
    """The figure as a PDF file; its scripts as in a PNG file."""
    return _saved(figure, "pdf")


# How a figure becomes a file, by the suffix of the file's name.
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
    """An empty figure of so many inches, in which what is drawn makes room for each other."""
    figure = Figure(figsize=(width, height), layout="constrained")
    Canvas(figure)
    return figure


def shades(colour: str, *, strongest: float = 0.9) -> ListedColormap:
    """From nothing at all, so that any page shines through, to nearly the full colour."""
    return ListedColormap([(*to_rgb(colour), strongest * step / 255) for step in range(256)])


def short(name: str) -> str:
    """One line of a name; long ones often differ only at their ends, so what is left out is the middle."""
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
    """Inches that the longest of some names takes as it is shown."""
    return CHARACTER * max((_characters(short(name)) for name in names), default=0)


def _characters(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
