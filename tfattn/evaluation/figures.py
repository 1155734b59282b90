"""How pictures look: each is a matplotlib figure that `png` turns into bytes.

Figures are made without pyplot: nothing is global, and no display is needed. Text is drawn as it is, so a label may
hold `$` or `_`; fonts for other scripts are used where the machine has them.
"""

import functools
import io
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

INK, GREY, LINE, PALE = "#1f2933", "#7b8794", "#d9dee4", "#f4f6f8"
BLUE, ORANGE, GREEN, RED, PURPLE = "#2f6db5", "#e08a1e", "#4f8a4b", "#c4453c", "#7a5ba6"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, RED)
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "PingFang SC", "Microsoft YaHei", "Noto Sans")
MOST_CHARACTERS = 28
FORMATS = {".png": "png", ".svg": "svg", ".pdf": "pdf"}  # by the suffix of a file


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
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
    """The figure as a PNG file."""
    return drawn(figure, "png")


def drawn(figure: Figure, kind: str) -> bytes:
    """The figure as a file of a kind that `FORMATS` names; pixels are twice those of a page, to stay sharp on paper."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # A script that no font has is drawn as boxes; the page beside the picture spells it out.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(buffer, format=kind, dpi=192, facecolor="white")
    return buffer.getvalue()


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def short(name: str) -> str:
    """Long names often differ only at their ends: what is left out is the middle."""
    return name if len(name) <= MOST_CHARACTERS else f"{name[:17]}…{name[-10:]}"
