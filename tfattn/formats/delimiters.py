"""A guess of a table's delimiter, for messages where the stated one finds no columns."""

import csv
from collections.abc import Collection, Sequence

DELIMITERS = (",", ";", "\t", "|")


def likely_delimiter(lines: Sequence[str], columns: Collection[str]) -> str | None:
    """Guess the delimiter that divides all lines into equally many fields, and best finds the names of columns.

    Args:
        lines: the first lines of a file.
        columns: names that the first line should have; numbers where it has no names.

    Returns:
        the delimiter; None where none of the usual ones divides all lines alike.

    Example:
        >>> likely_delimiter(["Text;Label", "Pump, hot;Leak"], ["Text"])
        ';'
    """
    found = []
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:  # such as a field that is too long, where nothing divides it
            continue
        whole = rows[:-1] if len(rows) > 2 else rows  # the last row may continue after these lines
        widths = set(map(len, whole))
        if len(widths) == 1 and (width := widths.pop()) > 1:
            found.append((len(set(columns) & set(rows[0])), width, delimiter))
    return max(found)[-1] if found else None
