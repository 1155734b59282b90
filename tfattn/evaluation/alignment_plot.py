"""A plot of the attention weights of source tokens for each token of a text that was written."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tfattn.drawing.colours import BLUE
from tfattn.drawing.figures import new_figure, short, styled, width_of
from tfattn.drawing.heat import heat, scale

CELL = 0.34  # inches
LARGEST = 60  # tokens of a side


@styled
def alignment(weights: np.ndarray, source: Sequence[str], written: Sequence[str], *, title: str = "") -> Figure:
    """Plot a square for each pair of tokens, source across and written text down; a colour scale shows the weights.

    Args:
        weights: (L, S) from 0 to 1, a row for each written token.
        source: S tokens, as they are to be read.
        written: L tokens.
        title: above the plot.

    Source: the picture of Bahdanau et al. 2015, figure 3.
    """
    weights, source, written = weights[:LARGEST, :LARGEST], source[:LARGEST], written[:LARGEST]
    height = 0.9 + width_of(source) + CELL * len(written)
    figure = new_figure(2.3 + width_of(written) + CELL * len(source), max(2.2, height))
    axes = figure.add_subplot()
    cells = heat(axes, weights, BLUE, highest=max(1e-9, float(weights.max(initial=0))))
    scale(cells, axes, "weight")
    axes.set_xticks(range(len(source)), map(short, source), rotation=90)
    axes.set_yticks(range(len(written)), map(short, written))
    axes.xaxis.tick_top()
    axes.tick_params(which="both", length=0)
    if title:
        axes.set_title(title)
    return figure
