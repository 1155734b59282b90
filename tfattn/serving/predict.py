"""A file of inputs in, JSON lines out, in the same order."""

import itertools
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from tfattn import files
from tfattn.errors import DataError, RefusedError
from tfattn.preprocessing.numbers import MISSING, read
from tfattn.serving import inputs
from tfattn.serving.inputs import Kind, Row

BATCH_SIZE = 32


class Model(Protocol):
    """What answers rows, in this process (`Engine`) or on a server (`Remote`)."""

    columns: Mapping[str, str]
    numeric: frozenset[str]

    def answer(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]: ...


def predict(model: Model, path: str, output: str, *, kind: Kind | None = None, batch_size: int = BATCH_SIZE) -> int:
    """Answers a file of inputs.

    Args:
        model: what answers.
        path: the file of inputs (see inputs.py); `-` is standard input.
        output: the file of answers, which appears when all are answered; `-` is standard output, batch by batch.
        kind: how to read the inputs, where the suffix does not tell.
        batch_size: how many rows go through the model together.

    Returns:
        how many rows were answered.
    """
    rows = inputs.read(path, model.columns, numeric=model.numeric, kind=kind)
    lines = (json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers(model, rows, batch_size=batch_size))
    if output == "-":
        return sum(_written(sys.stdout, line) for line in lines)
    with files.atomic_file(Path(output)) as temporary, temporary.open("w", encoding="utf-8") as file:
        return sum(_written(file, line) for line in lines)


def answers(model: Model, rows: Iterable[Row], *, batch_size: int = BATCH_SIZE) -> Iterator[dict[str, Any]]:
    """The answers to rows, in order, each with its inputs; `empty: true` marks a row without anything.

    Raises:
        DataError: a text is no number where the model reads one, or the model refuses a row; names row and column.
    """
    rows = iter(rows)
    while batch := list(itertools.islice(rows, batch_size)):
        for row, answer in zip(batch, _answered(model, batch), strict=True):
            empty = {} if any(text.strip() for text in row.fields.values()) else {"empty": True}
            yield {**row.fields, **empty, **answer}


def _answered(model: Model, batch: Sequence[Row]) -> list[dict[str, Any]]:
    asked = [values(row, model.numeric) for row in batch]
    try:
        return model.answer(asked)
    except RefusedError:
        for row, one in zip(batch, asked, strict=True):  # which of them was it?
            try:
                model.answer([one])
            except RefusedError as error:
                said = error.received.splitlines()[0]
                raise DataError("the model refuses the row", where=row.where, received=said) from None
        raise


def values(row: Row, numeric: frozenset[str]) -> dict[str, Any]:
    """A row as a model takes it: numbers for the inputs that are numbers.

    Raises:
        DataError: a text is no number; names row and column.
    """
    return {name: _number(row, name) if name in numeric else text for name, text in row.fields.items()}


def _number(row: Row, name: str) -> float:
    text = row.fields[name].strip()
    if text in MISSING:
        return math.nan
    if read(text) is None:
        raise DataError(
            f"the column `{name}` holds no finite number",
            where=row.where,
            expected=" or ".join(["a number", *map(repr, MISSING)]),
            received=repr(row.fields[name]),
        )
    return float(text)


def _written(file: TextIO, line: str) -> int:
    file.write(line)
    if file is sys.stdout:
        file.flush()
    return 1
