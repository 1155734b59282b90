"""How much each source token counted as each token of a text was written, as a picture."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tfattn.evaluation.figures import new_figure, styled

CELL = 0.34  # inches
LARGEST = 60  # tokens of a side


@styled
def alignment(weights: np.ndarray, source: Sequence[str], written: Sequence[str], *, title: str = "") -> Figure:
    """A square for each pair of tokens, source across and written text down; darker counted more.

    Args:
        weights: (L, S) from 0 to 1, a row for each written token.
        source: S tokens, as they are to be read.
        written: L tokens.
        title: stands above.

    Source: the picture of Bahdanau et al. 2015, figure 3.
    """
    weights, source, written = weights[:LARGEST, :LARGEST], source[:LARGEST], written[:LARGEST]
    names = max(map(len, source), default=0), max(map(len, written), default=0)
    figure = new_figure(1.2 + 0.085 * names[1] + CELL * len(source), 0.9 + 0.085 * names[0] + CELL * len(written))
    axes = figure.add_subplot()
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.imshow(weights, cmap="Blues", vmin=0, vmax=max(1e-9, float(weights.max(initial=0))), aspect="auto")
    axes.set_xticks(range(len(source)), source, rotation=90)
    axes.set_yticks(range(len(written)), written)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(source) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(written) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    if title:
        axes.set_title(title)
    return figure
