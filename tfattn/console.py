"""Console output on standard error: lines, tables and progress bars.

Standard output has results only (predictions, configurations, schemas), so that it can be piped.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich import box, filesize
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

Item = TypeVar("Item")

MAX_WIDTH = 200  # of a table in a file or a pipe

console = Console(stderr=True, highlight=False)


def note(line: str) -> None:
    """Print one line of plain text."""
    console.print(line, markup=False, soft_wrap=True)


@contextlib.contextmanager
def silenced(is_silent: bool = True) -> Iterator[None]:
    """Print nothing while the block runs, if `is_silent`."""
    before, console.quiet = console.quiet, console.quiet or is_silent
    try:
        yield
    finally:
        console.quiet = before


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, is_result: bool = False) -> None:
    """Print a table; numbers are right-aligned.

    Args:
        title: the title.
        columns: the headers of the columns.
        rows: the cells.
        is_result: whether the table is the result of the command, for standard output; words are not broken.
    """
    rows = [list(row) for row in rows]
    shown = Table(title=title, title_justify="left", title_style="bold")
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], (int, float)) for row in rows)
        style = {"no_wrap": True} if is_result else {"overflow": "fold"}
        shown.add_column(column, justify="right" if numeric else "left", **style)
    for row in rows:
        shown.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row))
    if is_result:
        shown.box = box.SIMPLE
        width = None if sys.stdout.isatty() else MAX_WIDTH
        Console(file=sys.stdout, highlight=False, width=width).print(shown, markup=False)
    else:
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


@contextlib.contextmanager
def transfer(title: str, size: int) -> Iterator[Callable[[int], None]]:
    """Show the progress of a download while the block runs: a bar on a terminal, otherwise a line at the start.

    Args:
        title: the title of the bar.
        size: the number of bytes.

    Yields:
        a function to call with the number of further bytes.
    """
    if not console.is_terminal:
        note(f"{title} ({filesize.decimal(size)})")
        yield lambda count: None
        return
    title_and_bar = TextColumn("{task.description}"), BarColumn()
    columns = *title_and_bar, DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=size)
        yield lambda count: bar.advance(task, count)


@contextlib.contextmanager
def step(title: str) -> Iterator[None]:
    """Say what is done while the block runs: on a terminal with the elapsed time, otherwise as a line at the start."""
    if not console.is_terminal:
        note(title)
        yield
        return
    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task(title, total=None)
        yield
        bar.update(task, total=1, completed=1)


def tracked(items: Iterable[Item], title: str, total: int | None) -> Iterator[Item]:
    """Iterate over items with a progress bar; see `progress`."""
    with progress(title, total) as advance:
        for item in items:
            yield item
            advance()
