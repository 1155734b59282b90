"""The quality of vectors that are cut to fewer dimensions (Matryoshka)."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from tfattn.drawing.colours import ORANGE
from tfattn.drawing.figures import new_figure, styled, svg
from tfattn.evaluation.plots import plain_numbers
from tfattn.evaluation.report import Picture, Section, Table


def shorter_vectors(by_size: Mapping[int, float], name: str) -> list[Section]:
    """Return a section of the metric of cut vectors by their length; none for a single length."""
    if len(by_size) < 2:
        return []
    full = next(iter(by_size.values()))
    table = [[size, f"{value:.4f}", f"{value - full:+.4f}"] for size, value in by_size.items()]
    picture = Picture("dimensions", svg(_by_size(by_size, name)), f"{name} by dimensions")
    return [Section("Quality by number of dimensions", [picture, Table(["dimensions", name, "difference"], table)])]


@styled
def _by_size(by_size: Mapping[int, float], name: str) -> Figure:
    figure = new_figure(4.2, 2.8)
    axes = figure.add_subplot()
    axes.plot(list(by_size), list(by_size.values()), color=ORANGE, marker="o", markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(by_size), [str(size) for size in by_size])
    axes.set_xlabel("dimensions")
    axes.set_title(name)
    axes.yaxis.set_major_formatter(plain_numbers())
    return figure
