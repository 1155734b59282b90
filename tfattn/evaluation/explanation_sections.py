"""Explanations on pages: words shaded by their contributions, and a bar for each column."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tfattn import files
from tfattn.drawing.colours import BLUE, INK, ORANGE, SOFT
from tfattn.drawing.figures import new_figure, short, styled, svg, text_width
from tfattn.evaluation import plots, report
from tfattn.evaluation.report import Headline, Marked, Picture, Piece, Section, Table, Text
from tfattn.evaluation.row_explanations import Explanation
from tfattn.evaluation.wording import between, count, fixed, number

MAX_BARS = 15  # of a picture, and rows of a table that is not folded
MAX_LABELS = 12  # numbers in a text
DECIMALS = 3
LEGEND = (
    "Blue with a solid line (+) raises the score, orange with a dashed line (-) lowers it; the stronger the color, the "
    "larger the contribution. Numbers are shown where the 95% interval excludes 0."
)
MEANING = (
    "Contributions are Shapley values: the mean change of the score when the {unit} joins others in a random order. "
    "Together they are the difference between the score and {base}. They describe the model, and not the causes of the "
    "label. The intervals are of the sampling of orders."
)


def write_page(explanations: Sequence[Explanation], path: Path, *, title: str) -> None:
    """Write a page with a section for each explanation: one self-contained HTML file."""
    first = explanations[0]
    headline = Headline(
        metric=f"{len(explanations):,}",
        sentence="prediction is explained." if len(explanations) == 1 else "predictions are explained.",
        remarks=remarks(first),
        facts={},
    )
    sections = [
        Section(f"{number}. {each.row['row']}", parts(each, number))
        for number, each in enumerate(explanations, start=1)
    ]
    subtitle = (
        "Contributions to the score of the predicted label" if first.explained != "prediction" else "Contributions"
    )
    files.write_text(path, report.render(report.Report(title, subtitle, headline, sections)))


def remarks(explanation: Explanation) -> list[str]:
    """Return the legend, and the meaning of the contributions."""
    base = "the mean score of the background rows" if explanation.is_table else "the score of the text without words"
    unit = "column" if explanation.is_table else "word"
    meaning = MEANING.format(unit=unit, base=base)
    return [meaning] if explanation.is_table else [LEGEND, meaning]


def parts(explanation: Explanation, index: int) -> list[Text | Marked | Picture | Table]:
    """Return the parts of an explanation; `index` is its number on the page."""
    shown: Marked | Picture = (
        Picture(f"explanation_{index}", svg(bars(explanation)), summary(explanation))
        if explanation.is_table
        else Marked(_marked(explanation))
    )
    return [Text(summary(explanation)), shown, _table(explanation)]


def summary(explanation: Explanation) -> str:
    """Return the score and the base in a sentence."""
    base = "on average of the background rows" if explanation.is_table else "without words"
    name = "The prediction" if explanation.explained == "prediction" else f"The score of “{explanation.explained}”"
    return f"{name} is {number(explanation.score)}, and {number(explanation.base)} {base}."


def signed(value: float) -> str:
    """Format a contribution with its sign.

    Example:
        >>> signed(0.25), signed(-0.1234)
        ('+0.250', '-0.123')
    """
    decimals = DECIMALS if abs(value) < 100 else 0
    return f"{'+' if value >= 0 else ''}{fixed(value, decimals)}"


def _marked(explanation: Explanation) -> list[tuple[str, list[Piece]]]:
    """Return the pieces of each text."""
    largest = float(np.abs(explanation.values).max()) or 1.0
    labelled = {int(index) for index in explanation.ranking[:MAX_LABELS] if explanation.is_clear[index]}
    lines: dict[str, list[Piece]] = {}
    for index, (field, text) in enumerate(zip(explanation.fields, explanation.texts, strict=True)):
        value, word = float(explanation.values[index]), text.rstrip()
        kind = "raises" if value >= 0 else "lowers"
        label = signed(value) if index in labelled else ""
        lines.setdefault(field, []).append(Piece(word, kind, label, strength=abs(value) / largest))
        lines[field].append(Piece(text[len(word) :]))
    return list(lines.items())


def _table(explanation: Explanation) -> Table:
    rows = [
        [
            explanation.names[index],
            signed(explanation.values[index]),
            between(explanation.low[index], explanation.high[index], decimals=DECIMALS),
        ]
        for index in explanation.ranking
    ]
    columns = ["column" if explanation.is_table else "word", "contribution", "95% interval"]
    return Table(columns, rows, folded=f"All {count(len(rows), columns[0])}")


@styled
def bars(explanation: Explanation) -> Figure:
    """Plot a bar with its interval for each column, the largest contributions first, at most MAX_BARS."""
    order = explanation.ranking[:MAX_BARS]
    positions, names = range(len(order)), [short(explanation.names[index]) for index in order]
    values = explanation.values[order]
    figure = new_figure(4.0 + text_width(names), 1.2 + 0.29 * len(order))
    axes = figure.add_subplot()
    axes.barh(positions, values, color=[BLUE if value >= 0 else ORANGE for value in values], height=0.64)
    axes.hlines(positions, explanation.low[order], explanation.high[order], color=INK, linewidth=1.6)
    axes.axvline(0, color=SOFT, linewidth=1)
    hidden = len(explanation.values) - len(order)
    axes.set_title("Contribution" + (f" ({hidden} smaller are hidden)" if hidden else ""))
    axes.set_xlabel("change of the score, with 95% interval")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(plots.plain_numbers())
    axes.set_yticks(positions, names)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return figure
