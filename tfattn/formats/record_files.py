"""Files of records with named columns, whose values may be numbers, dates or lists."""

import datetime
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from tfattn import files
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.formats import json_objects
from tfattn.formats.columns import Columns, as_columns, columns_in, missing_columns, value_of
from tfattn.formats.parts import Part
from tfattn.formats.source import Row, Source
from tfattn.formats.training_file import FileFormat


class RecordFile(Source):
    """The contract of such a file. Numbers, dates and booleans become text, null an empty value; lists are unchanged.

    A value has at most 1,048,576 characters.

    Attributes:
        kind: the name of the format.
        package, extra: the package that reads the file, and the extra of tfattn that installs it.

    Args:
        path: the file, or its remote address.
        fields: role: column, as of the source `csv`.

    Raises:
        ConfigError: the package is not installed.
    """

    kind: ClassVar[str]
    package: ClassVar[str]
    extra: ClassVar[str]

    def __init__(self, *, path: str, fields: Mapping[str, Any]):
        if importlib.util.find_spec(self.package) is None:
            raise ConfigError(
                f"the package {self.package} is not installed",
                key="name",
                expected=f"it, for `name: {self.kind}`",
                remedy=f"Run: pip install 'tfattn[{self.extra}]'",
            )
        self.path = files.path_of(path)
        self.fields: dict[str, Columns] = {role: as_columns(columns) for role, columns in fields.items()}
        self.format = FileFormat(self.kind)
        self._reads_all = False

    @classmethod
    def of_inputs(cls, path: str, columns: Mapping[str, Columns], how: FileFormat) -> "RecordFile":
        source = cls(path=path, fields=dict(columns), **how.options)
        source._reads_all = True
        present = set(source.names())
        # An input is in the column that it was trained on, or in the column of its own name.
        source.fields = {
            name: name if name in present and not present.issuperset(columns_in(trained_on)) else trained_on
            for name, trained_on in columns.items()
        }
        return source

    def names(self) -> list[str]:
        """Read the names of the columns.

        Raises:
            DataError: the file cannot be read.
        """
        raise NotImplementedError

    def records(self, names: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Read the number of each row, and its values in the named columns, in the order of the file.

        Raises:
            DataError: the file cannot be read.
        """
        raise NotImplementedError

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read every row, in the order of the file; its location is its number."""
        present = self.names()
        wanted = self._wanted(present)
        names = list(dict.fromkeys([*wanted, *(name for name in present if self._reads_all)]))
        is_empty = True
        for number, values in self.records(names):
            is_empty = False
            where = f"{self.path}:{number}"
            columns = {name: _plain(value, name, where, is_read=name in wanted) for name, value in values.items()}
            yield Row({role: _value(columns, wanted, where) for role, wanted in self.fields.items()}, where, columns)
        if is_empty:
            raise DataError("the file holds no rows", where=str(self.path))

    def _wanted(self, present: Sequence[str]) -> list[str]:
        """List the columns of the roles."""
        wanted = {column: role for role, columns in self.fields.items() for column in columns_in(columns)}
        for column, role in wanted.items():
            if present.count(column) > 1:
                raise DataError(
                    f"several columns are called {column!r}", where=str(self.path), expected=f"one, for `{role}`"
                )
        if missing := {column: role for column, role in wanted.items() if column not in present}:
            raise DataError(
                missing_columns(missing.values()),
                where=str(self.path),
                expected=f"{'one' if len(missing) == 1 else 'some'} of {listed(present)}",
                received=", ".join(map(repr, missing)),
                remedy=nearest(next(iter(missing)), present),
            )
        return list(wanted)


def _value(columns: Mapping[str, Any], wanted: Columns, where: str) -> Any:
    if isinstance(wanted, str):
        return json_objects.value_of(dict(columns), wanted, where)
    return value_of(wanted, lambda column: json_objects.text_of(dict(columns), column, where))


def _plain(value: Any, name: str, where: str, *, is_read: bool) -> Any:
    """Convert a value to a JSON type, such as a date to text."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(element, name, where, is_read=is_read) for element in value]
    if isinstance(value, dict):
        return {str(key): _plain(element, name, where, is_read=is_read) for key, element in value.items()}
    if isinstance(value, bytes) and is_read:
        raise DataError(
            f"the value of {name!r} is bytes", where=where, expected="text", remedy="Write the column as strings."
        )
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return str(value)
