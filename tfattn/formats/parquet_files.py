"""Rows of a Parquet file."""

from collections.abc import Iterator, Sequence
from typing import Any

from tfattn.errors import DataError
from tfattn.formats.record_files import RecordFile
from tfattn.formats.text_files import check_is_file

BATCH_ROWS = 1024


class ParquetFile(RecordFile):
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

    kind, package, extra = "parquet", "pyarrow", "parquet"

    def __init__(self, *, path: str, fields: dict[str, str | list[str | list[str]]]):
        super().__init__(path=path, fields=fields)

    def names(self) -> list[str]:
        with self._opened() as file:
            return file.schema_arrow.names

    def records(self, names: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        with self._opened() as file:
            number = 0
            try:
                for batch in file.iter_batches(BATCH_ROWS, columns=list(names)):
                    for values in batch.to_pylist():
                        number += 1
                        yield number, values
            except (OSError, ValueError) as error:  # pyarrow's own errors are of these types
                raise self._damaged(error) from None

    def _opened(self) -> Any:
        import pyarrow
        import pyarrow.parquet

        check_is_file(self.path)
        try:
            return pyarrow.parquet.ParquetFile(self.path.open("rb"))
        except (OSError, pyarrow.ArrowException) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            "the file cannot be read as Parquet",
            where=str(self.path),
            received=str(error).splitlines()[0],
            remedy="Check `path`, or write the file again.",
        )
