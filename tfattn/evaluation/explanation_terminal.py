"""Explanations in the terminal: colored words, and a bar for each word or column."""

import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tfattn.evaluation.explanation_sections import DECIMALS, signed, summary
from tfattn.evaluation.row_explanations import Explanation
from tfattn.evaluation.wording import between

MAX_BARS = 10
BAR_WIDTH = 24
STRONG = 0.5  # fraction of the largest contribution
# By the sign, then whether the contribution is strong. The bars have signs: color alone is not accessible.
STYLES = {True: ("blue", "bold white on blue"), False: ("dark_orange", "bold black on dark_orange")}


def show(explanations: Iterable[Explanation]) -> None:
    """Print explanations to standard output, as they are computed."""
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 100)
    for explanation in explanations:
        console.print(Text(_plain(f"{explanation.row['row']}: {summary(explanation)}"), style="bold"))
        if not explanation.is_table:
            console.print(_text(explanation))
        console.print(_bars(explanation))


def _text(explanation: Explanation) -> Text:
    """Return the text with colored words, where the interval of the contribution excludes 0."""
    text, field = Text(), explanation.fields[0]
    for index, word in enumerate(explanation.texts):
        if explanation.fields[index] != field:
            field = explanation.fields[index]
            text.append(" | ")
        plain = _plain(word)
        text.append(plain.rstrip(), _style(explanation, index) if explanation.is_clear[index] else "")
        text.append(plain[len(plain.rstrip()) :])
    return text


def _bars(explanation: Explanation) -> Table:
    """Return a line for each of the largest contributions: name, number, interval and bar."""
    largest = float(abs(explanation.values).max()) or 1.0
    shown = Table(box=box.SIMPLE, show_edge=False)
    shown.add_column("column" if explanation.is_table else "word", overflow="fold")
    shown.add_column("contribution", justify="right", no_wrap=True)
    shown.add_column("95% interval", no_wrap=True)
    shown.add_column("")
    for index in explanation.ranking[:MAX_BARS]:
        value = float(explanation.values[index])
        interval = between(explanation.low[index], explanation.high[index], decimals=DECIMALS)
        bar = "█" * max(1, round(BAR_WIDTH * abs(value) / largest))
        cells = [Text(_plain(explanation.names[index])), Text(signed(value)), Text(interval)]
        shown.add_row(*cells, Text(bar, style=STYLES[value >= 0][0]))
    return shown


def _style(explanation: Explanation, index: int) -> str:
    value, largest = float(explanation.values[index]), float(abs(explanation.values).max())
    return STYLES[value >= 0][abs(value) >= STRONG * largest]


def _plain(text: str) -> str:
    """Replace control characters, which a terminal would obey; white space becomes spaces."""
    return "".join(
        character if character.isprintable() else " " if character.isspace() else "\ufffd" for character in text
    )
