"""Detection of the delimiter of a table, for error messages about missing columns."""

import csv
from collections.abc import Collection, Sequence

DELIMITERS = (",", ";", "\t", "|")


def likely_delimiter(lines: Sequence[str], columns: Collection[str]) -> str | None:
    """Detect the delimiter that splits all lines into the same number of fields and finds the most column names.

    Args:
        lines: the first lines of a file.
        columns: expected names of columns in the first line, or numbers without a header.

    Returns:
        the delimiter; None if no common delimiter splits all lines into the same number of fields.

    Example:
        >>> likely_delimiter(["Text;Label", "Pump, hot;Leak"], ["Text"])
        ';'
    """
    found = []
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:  # such as a field that is too long without this delimiter
            continue
        whole = rows[:-1] if len(rows) > 2 else rows  # the last row may continue after these lines
        widths = set(map(len, whole))
        if len(widths) == 1 and (width := widths.pop()) > 1:
            found.append((len(set(columns) & set(rows[0])), width, delimiter))
    return max(found)[-1] if found else None
