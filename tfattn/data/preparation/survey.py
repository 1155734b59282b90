"""The survey step: collect a few bytes per row for the split and for statistics, part by part."""

import hashlib
import json
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tfattn.data.engines import results
from tfattn.data.engines.results import Folder, Read, Result, result
from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.preparation import arrays
from tfattn.data.preparation.units import Rows, Work, systematic_sample
from tfattn.data.raw_data import RawData
from tfattn.errors import DataError
from tfattn.formats.numbers import stripped
from tfattn.formats.source import Row

SURVEY = "survey"
SHOWN_ROWS = 5
MAX_VALUES = 1000  # per role of `hold_out`, for a message


class Occurrences:
    """A count of rows, with the locations of the first."""

    def __init__(self) -> None:
        self.rows, self.first = 0, list[str]()

    def add(self, location: str) -> None:
        self.rows += 1
        if len(self.first) < SHOWN_ROWS:
            self.first.append(location)

    @staticmethod
    def merge(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Merge `vars` of several parts, in the order of rows."""
        first = [location for part in parts for location in part["first"]]
        return {"rows": sum(part["rows"] for part in parts), "first": first[:SHOWN_ROWS]}


def survey(work: Work, unit: Rows) -> None:
    """Check the rows of a part, and write the survey of its complete rows.

    Raises:
        DataError: a row cannot be read; names file and line.
    """
    data = work.data
    dropped = {role: Occurrences() for role in data.needed_roles(unit.source)}
    remarks: defaultdict[str, Occurrences] = defaultdict(Occurrences)
    empty = {name: Occurrences() for name in data.preprocessing.fields if data.preprocessing.reads_columns}
    values: dict[str, set[str]] = {role: set() for role in data.split.hold_out or {}}
    roles = data.compared_roles(unit.source)
    locations, texts, strata, groups, is_held_out = [], [], [], [], []
    corrected: list[str] = []
    for row in complete_rows(data, unit, dropped, corrected):
        data.preprocessing.check(row.fields, row.where)
        data.targets.check(row)
        for remark in data.targets.remarks(row):
            remarks[remark].add(row.where)
        for name, seen_empty in empty.items():
            if stripped(row.fields[name]) in data.preprocessing.missing:
                seen_empty.add(row.where)
        locations.append(row.where)
        texts.append(content_hash(normalized(row, roles)))
        strata.append(data.targets.stratum(row))
        groups.append(row.fields[data.split.group].strip() if data.split.group else "")
        is_held_out.append(data.split.is_held_out(row.fields))
        for role, seen in values.items():
            if len(seen) < MAX_VALUES:
                seen.add(row.fields[role].strip())
    columns = {"strata": DictionaryEncoded.of(strata), "groups": DictionaryEncoded.of(groups)}
    found = {
        "dropped": {role: vars(locations) for role, locations in dropped.items()},
        "empty": {name: vars(locations) for name, locations in empty.items() if locations.rows},
        "remarks": {remark: vars(locations) for remark, locations in remarks.items()},
        "values": {role: sorted(seen) for role, seen in values.items()},
        "corrected": corrected,
        **{name: column.names for name, column in columns.items()},
    }
    with result(work.folder / SURVEY, unit.name) as folder:
        if data.sources[unit.source].rows_are_files:
            np.save(folder / "paths.npy", np.array([location.encode() for location in locations], bytes))
        else:
            np.save(folder / "lines.npy", np.array([line_of(location) for location in locations], np.int64))
        np.save(folder / "texts.npy", np.array(texts, np.uint64))
        np.save(folder / "is_held_out.npy", np.array(is_held_out, bool))
        for name, column in columns.items():
            np.save(folder / f"{name}.npy", column.codes)
        (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")


class Survey:
    """The survey of all N complete rows, with consecutive indices over all parts.

    Args:
        data: the `data` section.
        folder: the folder of the `Work`.
        units: all parts, in order.

    Attributes:
        starts: (parts + 1,), the index of the first row of each part, and N.
        strata, groups: the stratum and the group of each row, for the split.
        texts: (N,) uint64, hashes of the content of rows.
        is_held_out: (N,) bool, whether `split.hold_out` makes a row a test row.
        dropped: by role, the number of rows without a value, and the locations of the first.
        empty: by column of a table, the number of complete rows without a value, and the locations of the first.
        remarks: by remark of the targets, the number of rows, and the locations of the first.
        values: the values of each role of `split.hold_out`.
        corrected: the keys of the rows with a corrected label.
    """

    def __init__(self, data: RawData, folder: Folder, units: Sequence[Rows]):
        self.units = units
        self._paths = [
            None if data.sources[unit.source].rows_are_files else unit.part.path or str(data.sources[unit.source].path)
            for unit in units
        ]
        self._folders = results.all_opened(folder / SURVEY, [unit.name for unit in units])
        found = self._each(lambda part: json.loads((part / "found.json").read_bytes()))
        self.texts, self.is_held_out = (np.concatenate(self._columns(name)) for name in ("texts", "is_held_out"))
        self.strata, self.groups = (
            DictionaryEncoded.concatenate(
                [DictionaryEncoded(part[name], codes) for part, codes in zip(found, self._columns(name), strict=True)]
            )
            for name in ("strata", "groups")
        )
        counts = self._each(lambda part: len(arrays.opened(part / "texts.npy")))
        self.starts = np.cumsum([0, *counts])
        self.dropped, self.empty, self.remarks = (_locations(found, kind) for kind in ("dropped", "empty", "remarks"))
        self.corrected = [key for part in found for key in part["corrected"]]
        values = [part["values"] for part in found]
        self.values = {role: sorted({value for part in values for value in part[role]}) for role in values[0]}
        self._locations = lru_cache(maxsize=4)(self._locations_of)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, row: int) -> str:
        """Return the location of a row: file and line, or the path if a row is a file."""
        part = int(np.searchsorted(self.starts, row, side="right")) - 1
        path, location = self._paths[part], self._locations(part)[row - self.starts[part]]
        return bytes(location).decode() if path is None else f"{path}:{location}"

    @cached_property
    def is_apart(self) -> np.ndarray:
        """(N,) bool, whether a row is from the validation source."""
        return np.repeat([unit.source != "source" for unit in self.units], np.diff(self.starts))

    def finding(self, rows: np.ndarray) -> dict[str, Any]:
        """Count the marked rows, (N,) bool, and list the locations of the first."""
        numbers = np.flatnonzero(rows)
        return {"rows": len(numbers), "first": [self[row] for row in numbers[:SHOWN_ROWS]]}

    def _locations_of(self, part: int) -> np.ndarray:
        return arrays.opened(self._folders[part] / ("lines.npy" if self._paths[part] else "paths.npy"))

    def _columns(self, name: str) -> list[np.ndarray]:
        return self._each(lambda part: arrays.load(part / f"{name}.npy"))

    def _each(self, read: Callable[[Result], Read]) -> list[Read]:
        return results.each(read, self._folders, location=self._folders[0])


def _locations(parts: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Merge the counts of parts by name."""
    names = dict.fromkeys(name for part in parts for name in part[kind])
    return {name: Occurrences.merge([part[kind][name] for part in parts if name in part[kind]]) for name in names}


def complete_rows(
    data: RawData,
    unit: Rows,
    dropped: dict[str, Occurrences] | None = None,
    corrected: list[str] | None = None,
) -> Iterator[Row]:
    """Read the complete rows of a part, with corrected labels; rows without a needed value are dropped and counted.

    Args:
        data: the `data` section.
        unit: the part.
        dropped: by role, counts the dropped rows.
        corrected: collects the keys of the corrected rows.

    Raises:
        DataError: a row cannot be read, or the value of a text role is not text; names file and line.
    """
    dropped = defaultdict(Occurrences) if dropped is None else dropped
    roles, texts = data.needed_roles(unit.source), data.text_roles(unit.source)
    rows = data.sources[unit.source].rows(unit.part)
    for row in rows if unit.limit is None else systematic_sample(rows, unit.limit):
        if data.corrections is not None and data.corrections.has(row):
            row = data.corrections.apply(row)
            if corrected is not None:
                corrected.append(data.corrections.key(row))
        for role in texts:
            if not isinstance(row.fields[role], str):
                raise DataError(
                    f"the value of `{role}` is nested",
                    where=row.where,
                    expected="text",
                    received=json.dumps(row.fields[role], ensure_ascii=False)[:40],
                )
        empty = next((role for role in roles if data.lacks(row, role)), None)
        if empty is None:
            yield row
        else:
            dropped[empty].add(row.where)


def line_of(location: str) -> int:
    """Return the line number of a location `file:line`."""
    return int(location.rpartition(":")[2])


def normalized(row: Row, roles: Sequence[str]) -> str:
    """Return the content of a row for comparison, normalized in case, width and spaces."""
    values = (row.fields[role] for role in roles)
    parts = (part for value in values for part in (value if isinstance(value, list) else [value]))
    parts = (hashlib.sha256(part).hexdigest() if isinstance(part, bytes) else part for part in parts)
    return "\n".join(_plain(part if isinstance(part, str) else json.dumps(part, sort_keys=True)) for part in parts)


def _plain(text: str) -> str:
    # ASCII text is already in normal form.
    return " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold().split())


def content_hash(text: str) -> int:
    """Compute a 64-bit hash; two of 10 million texts collide with a probability of 1 / 370,000."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
