"""Predictions of a file of inputs, a line for each row in the same order."""

import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tfattn import files
from tfattn.errors import ConfigError, DataError, RefusedError, TfattnError
from tfattn.features import ID, SOURCE, TARGET, TEXT
from tfattn.formats import numbers
from tfattn.formats.file_formats import InputKind
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import image_rows, input_rows, output_lines
from tfattn.serving.client.input_rows import InputRow
from tfattn.serving.client.output_lines import EMPTY, ERROR, FailedRow, OutputLine

BATCH_SIZE = 32
MOST_LISTED = 20  # problems of rows; the file of predictions has them all


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
    append: bool = False,
) -> int:
    """Write the predictions of a file of inputs.

    Args:
        model: the model.
        path: the file of inputs (see input_rows.py); `-` is standard input. Where the model reads images, the rows name
            them, counted from the folder of the file; or it is a folder of images, a pattern, or an image itself.
        output: the file of predictions, which appears when all rows have been read: JSON lines, csv, tsv, xlsx,
            Parquet, or the plain texts of a language model, by the suffix (see output_lines.py); `-` is
            standard output, as JSON lines and batch by batch.
        kind: the format of the inputs, if the suffix is unknown.
        batch_size: how many rows go through the model together.
        arrays: whether tables have arrays of numbers, too.
        append: whether lines have all columns of the file, instead of the inputs of the model. A column with the name
            of a prediction becomes `target` if it was the column of the targets in training, otherwise `input.NAME`.

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
    made = predictions(model, rows, batch_size=batch_size, folder=folder, append=append)
    written = as_format(tally.counted(made))
    if output == "-":
        for line in written:
            sys.stdout.write(line)
            sys.stdout.flush()
    else:
        with files.atomic_file(Path(output)) as temporary, temporary.open("wb") as file:
            file.writelines(piece if isinstance(piece, bytes) else piece.encode() for piece in written)
    if tally.failed:
        raise tally.error(output)
    return tally.rows


def predictions(
    model: Predictor,
    rows: Iterable[InputRow],
    *,
    batch_size: int = BATCH_SIZE,
    folder: Path = Path(),
    append: bool = False,
) -> Iterator[OutputLine]:
    """Compute the predictions of rows, in order, each with its inputs, and with its identifier `id` if it has one.

    `empty: true` marks a row without anything. A row may have an `error` instead of a prediction: it cannot be read, a
    text is no number where the model reads one, or names no image that can be read, or the model refuses it.

    Args:
        model: the model.
        rows: of inputs.
        batch_size: how many rows go through the model together.
        folder: from which the names of images count.
        append: whether to return all columns of a row instead of its inputs; see `predict`.
    """
    rows = iter(rows)
    while batch := list(itertools.islice(rows, batch_size)):
        read = [_read(row, model, folder) for row in batch]
        predicted = _predicted(model, [inputs for inputs in read if not isinstance(inputs, TfattnError)])
        names = {name for outputs in predicted if not isinstance(outputs, TfattnError) for name in outputs}
        remaining = iter(predicted)
        for row, inputs in zip(batch, read, strict=True):
            outputs = inputs if isinstance(inputs, TfattnError) else next(remaining)
            yield _line(row, _columns(row, model, names) if append else _inputs(row, model), outputs)


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


def _inputs(row: InputRow, model: Predictor) -> dict[str, Any]:
    """Return the identifier and the inputs of a row for its line; a text for which a text is written is its source."""
    identifier = model.trained_on.id_in(row.columns)
    fields = {SOURCE if model.writes_text and name == TEXT else name: text for name, text in row.fields.items()}
    return fields if identifier is None else {ID: identifier, **fields}


def _columns(row: InputRow, model: Predictor, predicted: Collection[str]) -> dict[str, Any]:
    """Return all columns of a row for its line, renamed where a prediction has the name."""
    targets = model.trained_on.targets.values()
    return {
        name if name not in predicted else TARGET if name in targets else f"input.{name}": value
        for name, value in (row.columns or row.fields).items()
    }


def _line(row: InputRow, fields: dict[str, Any], outputs: dict[str, Any] | TfattnError) -> OutputLine:
    if isinstance(outputs, RefusedError):
        outputs = DataError("the model refuses the row", where=row.where, received=said(outputs))
    if isinstance(outputs, TfattnError):
        failed = FailedRow(fields | {ERROR: str(outputs)})
        failed.kind = outputs.what
        return failed
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
        self._first: dict[str, str] = {}
        self._counts = Counter[str]()

    def counted(self, lines: Iterable[OutputLine]) -> Iterator[OutputLine]:
        """Yield the same lines, and count them."""
        for line in lines:
            self.rows += 1
            if isinstance(line, FailedRow):
                self.failed += 1
                self._counts[line.kind] += 1
                self._first.setdefault(line.kind, line[ERROR])
            yield line

    def error(self, output: str) -> DataError:
        """Make one error of all problems: the first row of each, and the number of the others."""
        where = "standard output" if output == "-" else output
        total = f"{where}: {self.failed} of {self.rows} rows have no prediction"
        others = {kind: rows - 1 for kind, rows in self._counts.items()}
        listed = [
            f"{first} (and {others[kind]:,} more {'row' if others[kind] == 1 else 'rows'})" if others[kind] else first
            for kind, first in itertools.islice(self._first.items(), MOST_LISTED)
        ]
        return DataError("\n".join([*listed, total]))
