"""The lines of a file of predictions: JSON, a table, or the plain texts that a model wrote."""

import csv
import functools
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfattn import files
from tfattn.features import TEXT

EMPTY, ERROR = "empty", "error"  # keys of a line that are there only where they say something
OutputLine = dict[str, Any]
Format = Callable[[Iterable[OutputLine]], Iterator[str]]


class FailedRow(OutputLine):
    """The line of a row without a prediction: its inputs, and `error`."""


def format_of(output: str, *, arrays: bool = False) -> Format:
    """Choose the format of lines by the suffix of the file's name; JSON lines for `-`, standard output.

    Args:
        output: the file's name.
        arrays: whether a table has arrays of numbers, too.

    Raises:
        ConfigError: the suffix does not say; names those that do.
    """
    chosen = json_lines if output == "-" else files.by_suffix(output, FORMATS)
    return functools.partial(chosen, arrays=True) if arrays and isinstance(chosen, functools.partial) else chosen


def json_lines(lines: Iterable[OutputLine]) -> Iterator[str]:
    """Write an object for each line."""
    for line in lines:
        yield json.dumps(line, ensure_ascii=False) + "\n"


def table(lines: Iterable[OutputLine], *, delimiter: str, arrays: bool = False) -> Iterator[str]:
    """Write a header, and a row of cells for each line: a column for each entry of an object, lists as JSON.

    The columns are those of the first line with a prediction; those before it wait for it.

    Args:
        lines: what is written.
        delimiter: between cells.
        arrays: whether to write arrays of numbers, such as vectors, too. Numbers that go with a list of texts, such as
            the scores of entities, are no array.
    """
    lines = iter(lines)
    first, left_out = [], set()
    for line in lines:
        first.append(_flat(line))
        if not isinstance(line, FailedRow):
            left_out = set() if arrays else _arrays(line)
            break
    names = [name for name in dict.fromkeys([*first[-1], EMPTY, ERROR]) if name not in left_out] if first else ()
    for line in itertools.chain([dict(zip(names, names, strict=True))] * bool(first), first, map(_flat, lines)):
        yield _cells([line.get(name, "") for name in names], delimiter)


def texts(lines: Iterable[OutputLine]) -> Iterator[str]:
    """Write the texts that the model has written, one per line; an empty line where there is none."""
    for line in lines:
        yield ("" if isinstance(line, FailedRow) else " ".join(line[TEXT].splitlines())) + "\n"


FORMATS: dict[str, Format] = {
    ".jsonl": json_lines,
    ".csv": functools.partial(table, delimiter=","),
    ".tsv": functools.partial(table, delimiter="\t"),
    ".txt": texts,
}


def _arrays(line: OutputLine) -> set[str]:
    """Find the entries of a line that are arrays."""
    lists = {name: value[0] for name, value in line.items() if isinstance(value, list) and value}
    has_texts = any(isinstance(first, str) for first in lists.values())
    return {
        name for name, first in lists.items() if isinstance(first, list) or not (has_texts or isinstance(first, str))
    }


def _flat(line: OutputLine) -> dict[str, str]:
    flat = {}
    for name, value in line.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": json.dumps(entry) for key, entry in value.items()}
        else:
            flat[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return flat


def _cells(cells: list[str], delimiter: str) -> str:
    row = io.StringIO()
    csv.writer(row, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return row.getvalue()
