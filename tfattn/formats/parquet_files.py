"""Rows of a Parquet file."""

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from tfattn import files
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.formats import json_objects
from tfattn.formats.columns import Columns, as_columns, columns_in, value_of
from tfattn.formats.parts import Part
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import check_is_file
from tfattn.formats.training_file import FileFormat

BATCH_ROWS = 1024


class ParquetFile(Source):
    """A Parquet file. Numbers, dates and booleans become text, null an empty value; lists and objects are unchanged.

    A value has at most 1,048,576 characters. Requires the package pyarrow.

    Args:
        path: the file, or its remote address: gs://bucket/rows.parquet.
        fields: role: column, as of the source `csv`.

    Raises:
        ConfigError: pyarrow is not installed.

    Example:
        source = ParquetFile(path="reports.parquet", fields={"text": "Description", "label": "Category"})
        for row in source.rows():
            print(row.where, row.fields["text"], row.fields["label"])
    """

    def __init__(self, *, path: str, fields: dict[str, str | list[str | list[str]]]):
        if importlib.util.find_spec("pyarrow") is None:
            raise ConfigError(
                "the package pyarrow is not installed",
                key="name",
                expected="it, for `name: parquet`",
                remedy="Run: pip install 'tfattn[parquet]'",
            )
        self.path = files.path_of(path)
        self.fields: dict[str, Columns] = {role: as_columns(columns) for role, columns in fields.items()}
        self.format = FileFormat("parquet")

    @classmethod
    def of_inputs(cls, path: str, columns: Mapping[str, Columns], how: FileFormat) -> "ParquetFile":
        source = cls(path=path, fields=dict(columns))
        with source._opened() as file:
            present = set(file.schema_arrow.names)
        # An input is in the column that it was trained on, or in the column of its own name.
        source.fields = {
            name: name if name in present and not present.issuperset(columns_in(trained_on)) else trained_on
            for name, trained_on in columns.items()
        }
        return source

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read every row, in the order of the file; its location is the number of the row, from 1."""
        with self._opened() as file:
            names = self._columns(file.schema_arrow.names)
            number = 0
            try:
                for batch in file.iter_batches(BATCH_ROWS, columns=names):
                    for values in batch.to_pylist():
                        number += 1
                        yield self._row(values, f"{self.path}:{number}")
            except (OSError, ValueError) as error:  # pyarrow's own errors are of these types
                raise self._damaged(error) from None
        if not number:
            raise DataError("the file holds no rows", where=str(self.path))

    def _opened(self) -> Any:
        import pyarrow
        import pyarrow.parquet

        check_is_file(self.path)
        try:
            return pyarrow.parquet.ParquetFile(self.path.open("rb"))
        except (OSError, pyarrow.ArrowException) as error:
            raise self._damaged(error) from None

    def _columns(self, present: list[str]) -> list[str]:
        """List the columns to read."""
        wanted = {column: role for role, columns in self.fields.items() for column in columns_in(columns)}
        for column, role in wanted.items():
            if present.count(column) != 1:
                raise DataError(
                    f"there is no single column for `{role}`",
                    where=str(self.path),
                    expected=f"one of {listed(present)}",
                    received=repr(column),
                    remedy=nearest(column, present),
                )
        return list(wanted)

    def _row(self, values: dict[str, Any], where: str) -> Row:
        known = {name: _plain(value, name, where) for name, value in values.items()}
        fields = {
            role: json_objects.value_of(known, columns, where)
            if isinstance(columns, str)
            else value_of(columns, lambda column: json_objects.text_of(known, column, where))
            for role, columns in self.fields.items()
        }
        return Row(fields, where)

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            "the file cannot be read as Parquet",
            where=str(self.path),
            received=str(error).splitlines()[0],
            remedy="Check `path`, or write the file again.",
        )


def _plain(value: Any, name: str, where: str) -> Any:
    """Convert a value to a JSON type, such as a date to text."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(element, name, where) for element in value]
    if isinstance(value, dict):
        return {str(key): _plain(element, name, where) for key, element in value.items()}
    if isinstance(value, bytes):
        raise DataError(
            f"the value of {name!r} is bytes", where=where, expected="text", remedy="Write the column as strings."
        )
    return str(value)
