"""Columns of roles in a table: a column, or a list of columns for a list of texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

# A column, or a list of texts, each from a column or from several columns joined by spaces.
Columns = str | list[str | list[str]]


def as_columns(columns: Any) -> Columns:
    """Convert the numbers of columns to texts.

    Example:
        >>> as_columns([1, [2, 3]])
        ['1', ['2', '3']]
    """
    return [as_columns(column) for column in columns] if isinstance(columns, list) else str(columns)


def columns_in(columns: Columns) -> Iterator[str]:
    """Yield all columns of a role.

    Example:
        >>> list(columns_in([["sent2", "ending0"], "ending1"]))
        ['sent2', 'ending0', 'ending1']
    """
    if isinstance(columns, str):
        yield columns
        return
    for column in columns:
        yield from [column] if isinstance(column, str) else column


def missing_columns(roles: Iterable[str]) -> str:
    """Return the message that there are no columns for some roles.

    Example:
        >>> missing_columns(["age", "job"])
        'there are no columns for `age` and `job`'
    """
    *others, last = (f"`{role}`" for role in roles)
    return f"there are no columns for {', '.join(others)} and {last}" if others else f"there is no column for {last}"


def value_of(columns: Columns, cell: Callable[[str], str]) -> str | list[str]:
    """Read the value of a role: a text, or a list of texts without trailing empty texts.

    A text of several columns is empty if one of the columns is empty.

    Args:
        columns: the columns of the role.
        cell: returns the value of a column.

    Example:
        >>> row = {"sent2": "He", "ending0": "sits.", "ending1": "runs.", "ending2": ""}
        >>> value_of([["sent2", "ending0"], ["sent2", "ending1"], ["sent2", "ending2"]], row.get)
        ['He sits.', 'He runs.']
    """
    if isinstance(columns, str):
        return cell(columns)
    texts = [cell(group) if isinstance(group, str) else _join([cell(column) for column in group]) for group in columns]
    while texts and not texts[-1].strip():
        texts.pop()
    return texts


def even(values: Sequence[str | list[str]]) -> list[str | list[str]]:
    """Pad lists of texts to the same length with empty texts; texts are unchanged.

    Example:
        >>> even([["a", "b", "c"], ["d", "e"]])
        [['a', 'b', 'c'], ['d', 'e', '']]
    """
    longest = max((len(value) for value in values if isinstance(value, list)), default=0)
    return [[*value, *[""] * (longest - len(value))] if isinstance(value, list) else value for value in values]


def _join(cells: list[str]) -> str:
    return " ".join(cells) if all(cell.strip() for cell in cells) else ""
