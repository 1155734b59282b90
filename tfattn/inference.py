"""Inference without a pipeline: the vectors of an encoder."""

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
    """Encode the texts, or the pairs of texts, of a file, and write the vectors.

    Args:
        model: a published encoder, a folder of weights, or the name of an export.
        input, format: the file and its format, as for `tfattn predict`.
        output, pooling: see `vector_files.write`.
        columns: the columns of the texts; by default those of the training file, or `text`.
        folder: the folder of all exports.
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
            expected="a text or a pair of texts per row",
            remedy="Name the columns with --columns.",
        )
    texts = functools.partial(_texts, input, trained_on, format)
    # Read a file once before the computation, so that errors are reported early; a pipe can be read only once.
    total = sum(1 for _ in texts()) if Path(input).is_file() else None
    encoder = TextEncoder.open(weights, pooling=pooling, fields=tuple(trained_on.columns), **options)
    vectors = console.tracked(encoder.encode(texts()), "features", total)
    written = vector_files.write(output, vectors, encoder.layers)
    longer = f"; {written.truncated:,} are longer than {encoder.tokenizer.max_length} tokens and were cut"
    console.note(f"features: {written.texts:,} texts" + longer * (written.truncated > 0))


def _roles(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns of the roles: one column of texts, or two of pairs."""
    if len(columns) > 2:
        received = ", ".join(columns)
        raise ConfigError("too many columns of texts", expected="1 or 2 columns", received=received)
    return dict(zip([TEXT] if len(columns) == 1 else [TEXT_A, TEXT_B], columns, strict=True))


def _texts(path: str, trained_on: TrainingFile, kind: InputKind | None) -> Iterator[dict[str, str]]:
    """Yield rows of texts, and raise the error of the first unreadable row."""
    for row in input_rows.read(path, trained_on, kind=kind):
        if row.problem:
            raise row.problem
        yield row.fields
