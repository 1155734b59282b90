"""Console output on standard error: lines, tables and progress bars.

Standard output has results only (predictions, configurations, schemas), so that it can be piped.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

Item = TypeVar("Item")

console = Console(stderr=True, highlight=False)


def note(line: str) -> None:
    """Print one line of plain text."""
    console.print(line, markup=False, soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; numbers are right-aligned."""
    rows = [list(row) for row in rows]
    shown = Table(title=title, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], (int, float)) for row in rows)
        shown.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row))
    console.print(shown, markup=False)


@contextlib.contextmanager
def progress(title: str, total: int | None, *, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show a progress bar with the remaining time on a terminal while the block runs.

    Args:
        title: the title of the bar.
        total: the number of items; None if it is unknown.
        done: the number of finished items.

    Yields:
        a function to call after each item.
    """
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda: bar.advance(task)


def tracked(items: Iterable[Item], title: str, total: int | None) -> Iterator[Item]:
    """Iterate over items with a progress bar; see `progress`."""
    with progress(title, total) as advance:
        for item in items:
            yield item
            advance()
