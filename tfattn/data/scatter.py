"""From the rows of a part to records, sorted by where they belong; and what was found on the way."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.data import assignment
from tfattn.data.division import SPLITS
from tfattn.data.encoding import have_classes, lengths_of, serialized
from tfattn.data.examples import fields_of
from tfattn.data.raw_rows import line_of_row
from tfattn.data.source import Row
from tfattn.data.split import TRAIN
from tfattn.data.survey import Places, complete_rows
from tfattn.data.units import Rows, Work, result
from tfattn.features import LABEL_IDS
from tfattn.preprocessing.unknown import Unknown

SCATTERED = "scatter"
# Encoded together: at most so many rows, and where texts are long fewer, because memory follows characters.
ROWS_AT_ONCE = 1024
CHARACTERS_AT_ONCE = 1 << 20
# What is kept of every record beside it.
_DTYPES = {"keys": np.uint64, "rows": np.int64, "lengths": np.int32, "label_ids": np.int32}


def scatter(work: Work, unit: Rows) -> None:
    """Encode the rows of a part, and write the records of each split in the order of their keys.

    Raises:
        DataError: the file has changed since it was surveyed.
    """
    assigned = assignment.read(work.folder, unit, work.seed)
    with result(work.folder / SCATTERED, unit.name) as folder:
        boxes = [_Box(split, work) for split in SPLITS]
        for box, places, rows in _batches(complete_rows(work.data, unit), assigned.split_of_row, boxes):
            box.add(rows, keys=assigned.keys[places], numbers=assigned.numbers[places])
        for number, box in enumerate(boxes):
            box.write(folder, is_leaked=assigned.is_leaked[assigned.split_of_row == number])


class _Box:
    """The records of one split of a part, and what was found as they were made."""

    def __init__(self, split: str, work: Work):
        self.split = split
        self._data = work.data
        self._features = work.features
        has_classes = have_classes(work.features)
        self._class_of = lambda values: values[LABEL_IDS] if has_classes else 0
        self._records: list[bytes] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in _DTYPES}
        self._raw: list[str] = []
        self._rows, self._classes = 0, Counter[str]()
        self._left_out, self._truncated = Places(), Places()
        self._unknown: dict[str, Unknown] = {}

    def add(self, rows: Sequence[Row], *, keys: np.ndarray, numbers: np.ndarray) -> None:
        """Encode some rows."""
        preprocessing, targets = self._data.preprocessing, self._data.targets
        if self.split == TRAIN:
            is_out = preprocessing.excluded(fields_of(rows, preprocessing)).numpy()
            for place in np.flatnonzero(is_out):
                self._left_out.add(rows[place].where)
            rows, keys, numbers = list(compress(rows, ~is_out)), keys[~is_out], numbers[~is_out]
            if not rows:
                return
        else:
            self._raw += map(line_of_row, rows)
        fields = fields_of(rows, preprocessing)
        for place in np.flatnonzero(preprocessing.truncated(fields).numpy()):
            self._truncated.add(rows[place].where)
        for name, found in preprocessing.unknown(fields).items():
            self._unknown[name] = self._unknown.get(name, Unknown()) + found
        self._rows += len(rows)
        self._classes.update(name for row in rows for name in targets.classes(row))
        for row, values in self._data.examples.of(rows, preprocessing, targets):
            self._records.append(serialized(values, self._features))
            made = keys[row], numbers[row], lengths_of(values, self._features), self._class_of(values)
            for column, value in zip(self._columns.values(), made, strict=True):
                column.append(value)

    def write(self, folder: Path, *, is_leaked: np.ndarray) -> None:
        """Write all records and findings."""
        columns = {name: np.array(values, _DTYPES[name]) for name, values in self._columns.items()}
        columns["lengths"] = columns["lengths"].reshape(len(self._records), -1) if self._records else np.empty((0, 1))
        order = np.argsort(columns["keys"], kind="stable")
        records = [self._records[place] for place in order]
        for name, values in columns.items():
            np.save(folder / f"{self.split}.{name}.npy", values[order])
        np.save(folder / f"{self.split}.offsets.npy", np.cumsum([0, *map(len, records)]))
        (folder / f"{self.split}.records").write_bytes(b"".join(records))
        if self.split != TRAIN:
            (folder / f"{self.split}.jsonl").write_text("".join(self._raw), encoding="utf-8")
            np.save(folder / f"{self.split}.leaked.npy", is_leaked)
        found = {
            "rows": self._rows,
            "classes": dict(self._classes),
            "left_out": vars(self._left_out),
            "truncated": vars(self._truncated),
            "unknown": {
                name: {"counted": one.counted, "unknown": one.unknown, "values": dict(one.values)}
                for name, one in self._unknown.items()
            },
        }
        (folder / f"{self.split}.json").write_text(json.dumps(found), encoding="utf-8")


def _batches(
    rows: Iterator[Row], split_of_row: np.ndarray, boxes: list[_Box]
) -> Iterator[tuple[_Box, list[int], list[Row]]]:
    """Group rows of one split, as many as are encoded together, with their places in the part."""
    waiting: list[tuple[list[int], list[Row], list[int]]] = [([], [], [0]) for _ in boxes]
    for place, row in enumerate(rows):
        places, some, [characters] = waiting[split_of_row[place]]
        more = sum(len(value) for value in row.fields.values() if isinstance(value, str))
        if some and (len(some) == ROWS_AT_ONCE or characters + more > CHARACTERS_AT_ONCE):
            yield boxes[split_of_row[place]], places, some
            places, some, characters = [], [], 0
        places.append(place)
        some.append(row)
        waiting[split_of_row[place]] = places, some, [characters + more]
    for box, (places, some, _) in zip(boxes, waiting, strict=True):
        if some:
            yield box, places, some
