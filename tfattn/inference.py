"""What is asked of one model without a pipeline: the vectors of an encoder."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tfattn import console, pretrained
from tfattn.errors import ConfigError
from tfattn.features import TEXT, TEXT_A, TEXT_B
from tfattn.formats.file_formats import InputKind
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import input_rows
from tfattn.vectors import vector_files
from tfattn.vectors.text_encoder import Pooling, TextEncoder


def features(
    model: str,
    input: str,
    output: str,
    *,
    pooling: Pooling,
    columns: Sequence[str] | None,
    format: InputKind | None,
    folder: Path,
    **options: Any,
) -> None:
    """Write the vectors that an encoder makes of a file of texts, or of pairs of them.

    Args:
        model: a published encoder, a folder of weights, or an export by its name in `folder`.
        input, format: as `tfattn predict` reads them.
        output, pooling: see `vector_files.write`.
        columns: those that hold the texts; by default the ones that an export was trained on, or `text`.
        options: other arguments of `TextEncoder.open`.
    """
    vector_files.check(output, pooling)
    weights = pretrained.find(model, folder)
    trained_on: TrainingFile = weights.trained_on
    if columns is not None:
        trained_on = dataclasses.replace(trained_on, columns=_roles(columns))
    if lists := [name for name, column in trained_on.columns.items() if not isinstance(column, str)]:
        raise ConfigError(
            "the export reads lists of texts",
            where=f"{model}: {lists[0]}",
            expected="one text of each row, or a pair",
            remedy="Name the columns of these: --columns.",
        )
    texts = functools.partial(_texts, input, trained_on, format)
    # What cannot be read is told before anything is computed; of a pipe nothing is read twice.
    total = sum(1 for _ in texts()) if Path(input).is_file() else None
    encoder = TextEncoder.open(weights, pooling=pooling, fields=tuple(trained_on.columns), **options)
    vectors = console.tracked(encoder.encode(texts()), "features", total)
    written = vector_files.write(output, vectors, encoder.layers)
    longer = f"; {written.truncated:,} longer than {encoder.tokenizer.max_length} tokens: their ends were not read"
    console.note(f"features: {written.texts:,} texts" + longer * (written.truncated > 0))


def _roles(columns: Sequence[str]) -> dict[str, str]:
    """Tell what columns are for: one holds texts, two hold pairs."""
    if len(columns) > 2:
        received = ", ".join(columns)
        raise ConfigError("texts are read alone, or in pairs", expected="1 or 2 columns", received=received)
    return dict(zip([TEXT] if len(columns) == 1 else [TEXT_A, TEXT_B], columns, strict=True))


def _texts(path: str, trained_on: TrainingFile, kind: InputKind | None) -> Iterator[dict[str, str]]:
    """Read rows of texts; the first that cannot be read ends it."""
    for row in input_rows.read(path, trained_on, kind=kind):
        if row.problem:
            raise row.problem
        yield row.fields
