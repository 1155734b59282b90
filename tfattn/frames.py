"""Rows of Python callers, and results for them as DataFrames. pandas takes half a second to import, so it is lazy."""

import datetime
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfattn.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

EXPECTED = "a DataFrame, a list of texts or of dictionaries, or a dictionary, which is one row"


def to_frame(rows: Iterable[Mapping[str, Any]], index: Any = None) -> "pd.DataFrame":
    """Return rows as a DataFrame; a dictionary in a row becomes a column for each key, such as `scores.Leak`.

    Args:
        rows: the rows, by column.
        index: the index of the DataFrame; by default 0, 1, 2 ...
    """
    import pandas as pd

    return pd.DataFrame([_flat(row) for row in rows], index=index)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= (
            {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    return flat


def to_rows(data: Any, *, name: str = "text") -> tuple[list[dict[str, Any]], Any]:
    """Return the rows of a Python caller as dictionaries with values of `as_cell`.

    Args:
        data: a DataFrame; a list, an array or a Series of texts; a list of dictionaries; or a dictionary, one row.
        name: the column of a text that is not in a dictionary.

    Returns:
        the rows, and the index of a DataFrame or Series, otherwise None.

    Raises:
        DataError: `data` is of another type, or a value cannot be in a row.
    """
    index = getattr(data, "index", None) if hasattr(data, "iloc") else None
    if hasattr(data, "columns"):  # a DataFrame
        names = [str(column) for column in data.columns]
        columns = [data.iloc[:, position].tolist() for position in range(len(names))]
        found: Iterable[Any] = (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))
    elif isinstance(data, Mapping | str):
        found = [data]
    elif hasattr(data, "tolist"):  # a Series, or an array
        found = data.tolist()
    elif isinstance(data, Sequence):
        found = data
    else:
        raise DataError("not rows", expected=EXPECTED, received=type(data).__name__)
    rows = []
    for number, row in enumerate(found):
        where = f"row {number}"
        if isinstance(row, str):
            row = {name: row}
        if not isinstance(row, Mapping):
            raise DataError("not a row", where=where, expected="a text or a dictionary", received=type(row).__name__)
        rows.append({str(key): as_cell(value, f"{where}, {key}") for key, value in row.items()})
    return rows, index


def as_cell(value: Any, where: str = "") -> Any:
    """Convert a value to the value that a file of rows has: a text, "" for a missing value, or a list of texts.

    A whole number is the same text as an integer or a float, because pandas turns integers into floats where a value of
    the column is missing. Bytes, such as images, are unchanged.

    Raises:
        DataError: the value is none of these.

    Example:
        >>> [as_cell(value) for value in ("yes", 1, 1.0, 0.5, True, None, float("nan"))]
        ['yes', '1', '1', '0.5', 'True', '', '']
    """
    if isinstance(value, str | bytes):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, list | tuple) or hasattr(value, "tolist") and getattr(value, "ndim", 0):
        return [as_cell(item, where) for item in (value.tolist() if hasattr(value, "tolist") else value)]
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isnan(number):
            return ""
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    if isinstance(value, datetime.date):
        return str(value)
    raise DataError(
        "not a value of a row", where=where, expected="a text, a number or a list of texts", received=repr(value)[:40]
    )
