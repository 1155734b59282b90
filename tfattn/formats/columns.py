"""What a role is read from in a table: one column, or several, which give a list of texts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

# A column; or a list of texts, each of a column, or of several with a space between them.
Columns = str | list[str | list[str]]


def as_columns(columns: Any) -> Columns:
    """Write the numbers of columns as texts, as headers have them.

    Example:
        >>> as_columns([1, [2, 3]])
        ['1', ['2', '3']]
    """
    return [as_columns(column) for column in columns] if isinstance(columns, list) else str(columns)


def columns_in(columns: Columns) -> Iterator[str]:
    """Yield all columns that a role is read from.

    Example:
        >>> list(columns_in([["sent2", "ending0"], "ending1"]))
        ['sent2', 'ending0', 'ending1']
    """
    if isinstance(columns, str):
        yield columns
        return
    for column in columns:
        yield from [column] if isinstance(column, str) else column


def value_of(columns: Columns, cell: Callable[[str], str]) -> str | list[str]:
    """Read the value of a role: a text, or a list of texts, without empty ones at its end.

    A text of several columns is empty where one of them is.

    Args:
        columns: of the role.
        cell: what stands in a column.

    Example:
        >>> row = {"sent2": "He", "ending0": "sits.", "ending1": "runs.", "ending2": ""}
        >>> value_of([["sent2", "ending0"], ["sent2", "ending1"], ["sent2", "ending2"]], row.get)
        ['He sits.', 'He runs.']
    """
    if isinstance(columns, str):
        return cell(columns)
    texts = [cell(one) if isinstance(one, str) else _joined([cell(column) for column in one]) for one in columns]
    while texts and not texts[-1].strip():
        texts.pop()
    return texts


def even(values: Sequence[str | list[str]]) -> list[str | list[str]]:
    """Make lists of texts equally long by empty texts behind the shorter ones; texts stay as they are.

    Example:
        >>> even([["a", "b", "c"], ["d", "e"]])
        [['a', 'b', 'c'], ['d', 'e', '']]
    """
    longest = max((len(value) for value in values if isinstance(value, list)), default=0)
    return [[*value, *[""] * (longest - len(value))] if isinstance(value, list) else value for value in values]


def _joined(cells: list[str]) -> str:
    return " ".join(cells) if all(cell.strip() for cell in cells) else ""
