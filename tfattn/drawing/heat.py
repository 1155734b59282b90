"""Heat maps: the cells of a matrix as shades of one colour, and their colour scale."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tfattn.drawing.colours import PAPER
from tfattn.drawing.figures import shades

STRONG = 0.8  # from this fraction of the highest value on, text on a cell has the colour of paper
STEPS = 10  # of a scale
BAR = 0.15  # inches, the width of a scale


def heat(axes: Axes, values: np.ndarray, colour: str, *, highest: float) -> QuadMesh:
    """Draw (L, S) values from 0 to `highest` as cells, the first line on top; masked ones stay empty."""
    lines, columns = values.shape
    cells = axes.pcolormesh(
        np.arange(columns + 1) - 0.5, np.arange(lines + 1) - 0.5, values, cmap=shades(colour), vmin=0, vmax=highest
    )
    axes.set_ylim(lines - 0.5, -0.5)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(columns - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(lines - 1) + 0.5, minor=True)
    axes.grid(which="minor", color=PAPER, linewidth=1.5)
    axes.set_axisbelow(False)  # the lines between the cells
    axes.tick_params(which="both", length=0)
    return cells


def scale(cells: QuadMesh, axes: Axes, words: str, *, percent: bool = False) -> None:
    """Draw the colour scale next to the cells, labelled with `words`; its numbers are percentages with `percent`."""
    highest, height = cells.norm.vmax, 0.75 * axes.figure.get_figheight()
    bar = axes.figure.colorbar(
        cells,
        ax=axes,
        boundaries=np.linspace(0, highest, STEPS + 1),
        shrink=0.75,
        aspect=height / BAR,
        pad=0.02,
    )
    bar.locator = MaxNLocator(5)
    bar.formatter = PercentFormatter(xmax=1) if percent else bar.formatter
    bar.update_ticks()
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=9)
    bar.set_label(words, fontsize=9)
