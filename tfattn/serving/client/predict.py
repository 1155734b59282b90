"""Predictions of a file of inputs, a line for each row in the same order."""

import itertools
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from tfattn import files
from tfattn.errors import ConfigError, DataError, RefusedError, TfattnError
from tfattn.features import SOURCE, TEXT
from tfattn.formats import numbers
from tfattn.formats.file_formats import InputKind
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import image_rows, input_rows, output_lines
from tfattn.serving.client.input_rows import InputRow
from tfattn.serving.client.output_lines import EMPTY, ERROR, FailedRow, OutputLine

BATCH_SIZE = 32
MOST_LISTED = 100  # problems of rows; the file of predictions has them all


class Predictor(Protocol):
    """A model in this process (`LocalModel`) or on a server (`RemoteModel`)."""

    trained_on: TrainingFile
    numeric: frozenset[str]
    lists: frozenset[str]
    files: frozenset[str]
    writes_text: bool

    def predict(self, rows: Sequence[Mapping[str, Any]], *, signature: str = ...) -> list[dict[str, Any]]: ...


def predict(
    model: Predictor,
    path: str,
    output: str,
    *,
    kind: InputKind | None = None,
    batch_size: int = BATCH_SIZE,
    arrays: bool = False,
) -> int:
    """Write the predictions of a file of inputs.

    Args:
        model: the model.
        path: the file of inputs (see input_rows.py); `-` is standard input. Where the model reads images, the rows name
            them, counted from the folder of the file; or it is a folder of images, a pattern, or an image itself.
        output: the file of predictions, which appears when all rows have been read: JSON lines, csv, tsv, or the plain
            texts of a model that writes some, by the suffix (see output_lines.py); `-` is standard output, as JSON
            lines and batch by batch.
        kind: how to read the inputs, where the suffix does not tell.
        batch_size: how many rows go through the model together.
        arrays: whether tables have arrays of numbers, too.

    Returns:
        how many rows there were.

    Raises:
        ConfigError: no predictions can be written under such a suffix.
        DataError: the inputs cannot be read; or some rows have no prediction, after all others have been
            written: each of them has a line, too, that says why.
    """
    as_format = output_lines.format_of(output, arrays=arrays)
    if as_format is output_lines.texts and not model.writes_text:
        others = [suffix for suffix, other in output_lines.FORMATS.items() if other is not as_format]
        raise ConfigError("the model writes no texts", where=output, expected=f"one of {', '.join(others)}")
    tally = _Tally()
    images = image_rows.named_by(path) if len(model.files) == len(model.trained_on.columns) == 1 else None
    if images is None:
        rows, folder = input_rows.read(path, model.trained_on, kind=kind, lists=model.lists), Path(path).parent
    else:
        rows, folder = image_rows.rows_of(images, *model.files), Path()
    written = as_format(tally.counted(predictions(model, rows, batch_size=batch_size, folder=folder)))
    if output == "-":
        _write(sys.stdout, written)
    else:
        with files.atomic_file(Path(output)) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            _write(file, written)
    if tally.failed:
        raise tally.error(output)
    return tally.rows


def predictions(
    model: Predictor, rows: Iterable[InputRow], *, batch_size: int = BATCH_SIZE, folder: Path = Path()
) -> Iterator[OutputLine]:
    """Compute the predictions of rows, in order, each with its inputs.

    `empty: true` marks a row without anything. A row may have an `error` instead of a prediction: it cannot be read, a
    text is no number where the model reads one, or names no image that can be read, or the model refuses it.

    Args:
        model: the model.
        rows: of inputs.
        batch_size: how many rows go through the model together.
        folder: from which the names of images count.
    """
    rows = iter(rows)
    while batch := list(itertools.islice(rows, batch_size)):
        read = [_read(row, model, folder) for row in batch]
        predicted = iter(_predicted(model, [one for one in read if not isinstance(one, TfattnError)]))
        for row, one in zip(batch, read, strict=True):
            outputs = one if isinstance(one, TfattnError) else next(predicted)
            yield _line(row, outputs, writes_text=model.writes_text)


def values(row: InputRow, model: Predictor, folder: Path = Path()) -> dict[str, Any]:
    """Convert a row for the model: numbers for numeric inputs, NaN where one is missing, bytes for images.

    Raises:
        DataError: a text is no number, or names no image; names row and column.
    """
    missing = model.trained_on.missing
    return {
        name: _number(row, name, missing)
        if name in model.numeric
        else image_rows.read(text, folder, row.where)
        if name in model.files
        else text
        for name, text in row.fields.items()
    }


def _number(row: InputRow, name: str, missing: Sequence[str]) -> float:
    text = numbers.stripped(row.fields[name])
    number = math.nan if text in missing else numbers.read(text)
    if number is None:
        raise DataError(
            f"the column `{name}` holds no finite number",
            where=row.where,
            expected=" or ".join(["a number", *map(repr, missing)]),
            received=repr(row.fields[name]),
        )
    return float(text) if math.isfinite(number) else number


def _read(row: InputRow, model: Predictor, folder: Path) -> dict[str, Any] | TfattnError:
    if row.problem:
        return row.problem
    try:
        return values(row, model, folder)
    except DataError as problem:
        return problem


def _predicted(model: Predictor, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | RefusedError]:
    """Compute the outputs of rows; if the model refuses one, return the reason and send the others again."""
    if not rows:
        return []
    try:
        return list(model.predict(rows))
    except RefusedError as error:
        if len(rows) == 1:
            return [error]
    middle = len(rows) // 2
    return [*_predicted(model, rows[:middle]), *_predicted(model, rows[middle:])]


def _line(row: InputRow, outputs: dict[str, Any] | TfattnError, *, writes_text: bool) -> OutputLine:
    # A text for which a text is written is its source.
    fields = {SOURCE if writes_text and name == TEXT else name: text for name, text in row.fields.items()}
    if isinstance(outputs, RefusedError):
        outputs = DataError("the model refuses the row", where=row.where, received=said(outputs))
    if isinstance(outputs, TfattnError):
        return FailedRow(fields | {ERROR: str(outputs)})
    is_empty = not any("".join(value).strip() for value in row.fields.values())
    return {**fields, **outputs, **({EMPTY: True} if is_empty else {})}


def said(error: RefusedError) -> str:
    """Extract the model's message from TensorFlow's error."""
    first = error.received.splitlines()[0]
    said = re.search(r"assertion failed: \[(.*)\]", first)
    return said[1] if said else first


class _Tally:
    """The number of rows, and the problems of some of them."""

    def __init__(self) -> None:
        self.rows = self.failed = 0
        self._first: list[str] = []

    def counted(self, lines: Iterable[OutputLine]) -> Iterator[OutputLine]:
        """Yield the same lines, and count them."""
        for line in lines:
            self.rows += 1
            if isinstance(line, FailedRow):
                self.failed += 1
                if len(self._first) < MOST_LISTED:
                    self._first.append(line[ERROR])
            yield line

    def error(self, output: str) -> DataError:
        """Make one error of all problems."""
        more = self.failed - len(self._first)
        where = "standard output" if output == "-" else output
        total = f"{where}: {self.failed} of {self.rows} rows have no prediction"
        return DataError("\n".join([*self._first, *([f"and {more} more"] if more else []), total]))


def _write(file: TextIO, lines: Iterable[str]) -> None:
    for line in lines:
        file.write(line)
        if file is sys.stdout:
            file.flush()
