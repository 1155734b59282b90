"""What a person reads while the program works: lines, tables and progress bars, on standard error.

Standard output carries results only (answers, configurations, schemas), so that it can be piped.
"""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

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
