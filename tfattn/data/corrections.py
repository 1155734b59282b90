"""Corrected labels of rows, from a CSV file such as the edited list of `tfattn label-errors`."""

import csv
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from tfattn import files
from tfattn.errors import DataError, listed
from tfattn.features import ID, LABEL
from tfattn.formats.source import Row

ROW, GIVEN = "row", "given"  # columns of the file, with `id` and `label`


class Corrections:
    """The corrected labels of a file.

    The file has a column `label` and a column `id`, or `row` with the location of the row, as in label_errors.csv. A
    row with an empty `label` is dropped. A column `given` is compared with the label of the row. Other columns are
    ignored.

    Args:
        path: the CSV file, in UTF-8.
    """

    def __init__(self, path: str):
        self.path = Path(path)

    def fingerprint(self) -> str:
        """Compute the SHA-256 of the file.

        Raises:
            DataError: the file cannot be read.
        """
        if not self.path.is_file():
            raise DataError("there is no file of corrections", where=str(self.path), remedy="See `data.corrections`.")
        return files.sha256(self.path)

    def apply(self, row: Row) -> Row:
        """Return the row with the corrected label.

        Raises:
            DataError: the label of the row is not the `given` label of the correction.
        """
        found = self._labels.get(self.key(row))
        if found is None:
            return row
        label, given = found
        if given is not None and given != (received := " ".join(row.fields[LABEL].split())):
            raise DataError(
                f"the label is not the label that {self.path} corrects",
                where=row.where,
                expected=repr(given),
                received=repr(received),
                remedy="The rows have changed since the corrections were made: find the label errors again.",
            )
        return replace(row, fields={**row.fields, LABEL: label})

    def key(self, row: Row) -> str:
        """Return the identifier of a row in the file."""
        return str(row.fields.get(ID, "")).strip() if self._by_id else row.where

    def has(self, row: Row) -> bool:
        """Return whether the file has a correction of a row."""
        return self.key(row) in self._labels

    def check_all_found(self, found: Collection[str]) -> None:
        """Check that each correction is of a row.

        Args:
            found: the keys of all corrected rows.

        Raises:
            DataError: there are other corrections.
        """
        if missing := sorted(self._labels.keys() - set(found)):
            raise DataError(
                "there are corrections of rows that do not exist",
                where=str(self.path),
                expected=f"the {ID if self._by_id else 'location'} of a row",
                received=listed(missing, 5),
                remedy="Remove these lines, or find the label errors again if the rows have changed.",
            )

    @property
    def _by_id(self) -> bool:
        return self._read[0]

    @property
    def _labels(self) -> dict[str, tuple[str, str | None]]:
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[bool, dict[str, tuple[str, str | None]]]:
        """Read the file: whether rows are identified by `id`, and the corrected and the given label of each row."""
        self.fingerprint()
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            names = reader.fieldnames or []
            key = ID if ID in names else ROW
            if not {key, LABEL} <= set(names):
                raise DataError(
                    "the corrections lack a column",
                    where=str(self.path),
                    expected=f"`{LABEL}`, and `{ID}` or `{ROW}`",
                    received=listed(names) or "nothing",
                )
            labels: dict[str, tuple[str, str | None]] = {}
            for line in reader:
                name = (line[key] or "").strip()
                if name in labels:
                    raise DataError(
                        "a row is corrected twice", where=f"{self.path}:{reader.line_num}", received=f"{key} {name!r}"
                    )
                labels[name] = " ".join((line[LABEL] or "").split()), line.get(GIVEN)
        return key == ID, labels
