"""Pictures of predicted numbers."""

import numpy as np
from matplotlib.figure import Figure

from tfattn.drawing.colours import BLUE, SOFT
from tfattn.drawing.figures import new_figure, styled
from tfattn.evaluation.plots import plain_numbers

MOST_DOTS = 2000  # of more rows so many are drawn, evenly by what is true


@styled
def predicted_by_true(true: np.ndarray, predicted: np.ndarray) -> Figure:
    """Plot a dot for each row, (N,) and (N,), with the line on which both are the same."""
    true, predicted = _some(true, predicted)
    figure = new_figure(4.6, 4.2)
    axes = figure.add_subplot()
    ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    axes.plot(ends, ends, color=SOFT, linewidth=1, linestyle="--", label="as it should be")
    axes.scatter(true, predicted, s=12, color=BLUE, alpha=_faint(true), linewidths=0)
    axes.set_title("Predicted by true")
    axes.set_xlabel("true")
    axes.set_ylabel("predicted")
    _plain(axes)
    axes.legend(fontsize=9, loc="upper left")
    return figure


@styled
def residuals(true: np.ndarray, predicted: np.ndarray) -> Figure:
    """Plot the error of each row, (N,) and (N,), by what was predicted for it."""
    true, predicted = _some(true, predicted)
    figure = new_figure(4.6, 4.2)
    axes = figure.add_subplot()
    axes.axhline(0, color=SOFT, linewidth=1, linestyle="--")
    axes.scatter(predicted, predicted - true, s=12, color=BLUE, alpha=_faint(true), linewidths=0)
    axes.set_title("Errors by prediction")
    axes.set_xlabel("predicted")
    axes.set_ylabel("predicted - true")
    _plain(axes)
    return figure


def _some(true: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places = np.argsort(true, kind="stable")[np.linspace(0, len(true) - 1, min(MOST_DOTS, len(true))).astype(int)]
    return true[places], predicted[places]


def _faint(values: np.ndarray) -> float:
    return 0.7 if len(values) < 300 else 0.3


def _plain(axes) -> None:
    axes.xaxis.set_major_formatter(plain_numbers())
    axes.yaxis.set_major_formatter(plain_numbers())
