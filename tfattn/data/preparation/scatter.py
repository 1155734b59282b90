"""The scatter step: encode the rows of a part as sorted records, and collect statistics."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress, islice
from pathlib import Path
from typing import Any

import numpy as np

from tfattn.data.engines.results import result
from tfattn.data.examples.encoding import have_classes, lengths_of, serialized
from tfattn.data.examples.examples import Randomness
from tfattn.data.preparation import assignment
from tfattn.data.preparation.split_assignment import DROPPED, SPLITS
from tfattn.data.preparation.survey import Occurrences, complete_rows
from tfattn.data.preparation.units import Rows, Work
from tfattn.data.sources.raw_rows import line_of_row
from tfattn.data.split_config import TRAIN
from tfattn.data.splitmix64 import nth_keys
from tfattn.features import LABEL_IDS
from tfattn.formats.source import Row
from tfattn.preprocessing.unknown import Unknown

SCATTERED = "scatter"
# Maximum size of a batch that is encoded at once; characters limit memory for long texts.
MAX_BATCH_ROWS = 1024
MAX_BATCH_CHARACTERS = 1 << 20
MAX_BATCH_EXAMPLES = 1024
RUN_BYTES = 16 << 20  # buffered records
# Columns of values per record.
_DTYPES = {"keys": np.uint64, "rows": np.int64, "lengths": np.int32, "label_ids": np.int32}
_EMPTY = {name: np.empty((0, 1) if name == "lengths" else 0, dtype) for name, dtype in _DTYPES.items()}
_SIZES = "sizes"  # bytes of each record


def scatter(work: Work, unit: Rows) -> None:
    """Encode the rows of a part, and write the records of each split in the order of their keys.

    Raises:
        DataError: the file has changed since the survey.
    """
    assigned = assignment.read(work.folder, unit, work.seed)
    with result(work.folder / SCATTERED, unit.name) as folder:
        buffers = [_Buffer(split, work, folder) for split in SPLITS]
        for buffer, indices, rows in _batches(complete_rows(work.data, unit), assigned.split_of_row, buffers):
            buffer.add(
                rows, seeds=assigned.seeds[indices], keys=assigned.keys[indices], numbers=assigned.numbers[indices]
            )
        for number, buffer in enumerate(buffers):
            buffer.close(is_leaked=assigned.is_leaked[assigned.split_of_row == number])


class _Buffer:
    """A buffer of the records of one split of a part, with their statistics.

    Records are written in runs sorted by key, so at most one run is in memory.
    """

    def __init__(self, split: str, work: Work, folder: Path):
        self.split = split
        self._data = work.data
        self._features = work.features
        self._folder = folder
        self._has_classes = have_classes(work.features)
        self._records: list[bytes] = []
        self._columns: dict[str, list[np.ndarray]] = {name: [] for name in _DTYPES}
        self._raw = folder / f"{split}.jsonl"
        self._bytes = 0
        self._runs: list[dict[str, np.ndarray]] = []  # the columns of written runs
        self._rows, self._classes = 0, Counter[str]()
        self._excluded, self._truncated = Occurrences(), Occurrences()
        self._unknown: dict[str, Unknown] = {}

    def add(self, rows: Sequence[Row], *, seeds: np.ndarray, keys: np.ndarray, numbers: np.ndarray) -> None:
        """Encode rows."""
        examples, preprocessing, targets = self._data.examples, self._data.preprocessing, self._data.targets
        is_training = self.split == TRAIN
        if is_training:
            is_excluded = examples.excluded(rows, preprocessing)
            for index in np.flatnonzero(is_excluded):
                self._excluded.add(rows[index].where)
            rows = list(compress(rows, ~is_excluded))
            seeds, keys, numbers = seeds[~is_excluded], keys[~is_excluded], numbers[~is_excluded]
            if not rows:
                return
        else:
            with open(self._raw, "a", encoding="utf-8") as file:
                file.writelines(map(line_of_row, rows))
        for index in np.flatnonzero(examples.truncated(rows, preprocessing)):
            self._truncated.add(rows[index].where)
        for name, found in examples.unknown(rows, preprocessing).items():
            self._unknown[name] = self._unknown.get(name, Unknown()) + found
        self._rows += len(rows)
        self._classes.update(name for row in rows for name in targets.classes(row))
        seen = Counter[int]()
        made = examples.of(rows, preprocessing, targets, Randomness(seeds, is_training))
        while some := list(islice(made, MAX_BATCH_EXAMPLES)):
            of_row = np.array([row for row, _ in some])
            its_keys = keys[of_row]
            if is_training and not examples.keep_adjacent:
                its_keys = nth_keys(its_keys, _index_in_row(of_row, seen))
            self._append([values for _, values in some], keys=its_keys, rows=numbers[of_row])

    def _append(self, examples: list[dict[str, Any]], *, keys: np.ndarray, rows: np.ndarray) -> None:
        """Encode examples, and write a run when the buffer is full."""
        records = serialized(examples, self._features)
        self._records += records
        self._bytes += sum(map(len, records))
        columns = {
            "keys": keys,
            "rows": rows,
            "lengths": lengths_of(examples, self._features),
            "label_ids": [values[LABEL_IDS] if self._has_classes else 0 for values in examples],
        }
        for name, values in columns.items():
            self._columns[name].append(np.asarray(values, _DTYPES[name]))
        if self._bytes >= RUN_BYTES:
            self._write()

    def close(self, *, is_leaked: np.ndarray) -> None:
        """Write the remaining records and the statistics."""
        if self._records or not self._runs:
            self._write()
        columns = {name: np.concatenate([run[name] for run in self._runs]) for name in (*_DTYPES, _SIZES)}
        columns["offsets"] = np.concatenate([[0], np.cumsum(columns.pop(_SIZES))])
        columns["runs"] = np.cumsum([0, *(len(run["keys"]) for run in self._runs)])
        for name, values in columns.items():
            np.save(self._folder / f"{self.split}.{name}.npy", values)
        if self.split != TRAIN:
            self._raw.touch()  # a split without rows
            np.save(self._folder / f"{self.split}.leaked.npy", is_leaked)
        found = {
            "rows": self._rows,
            "classes": dict(self._classes),
            "left_out": vars(self._excluded),
            "truncated": vars(self._truncated),
            "unknown": {
                name: {"counted": field.counted, "unknown": field.unknown, "values": dict(field.values)}
                for name, field in self._unknown.items()
            },
        }
        (self._folder / f"{self.split}.json").write_text(json.dumps(found), encoding="utf-8")

    def _write(self) -> None:
        """Write the buffered records as a sorted run."""
        columns = {name: np.concatenate(values) if values else _EMPTY[name] for name, values in self._columns.items()}
        columns[_SIZES] = np.array(list(map(len, self._records)), np.int64)
        order = np.argsort(columns["keys"], kind="stable")
        self._runs.append({name: values[order] for name, values in columns.items()})
        with open(self._folder / f"{self.split}.records", "ab") as file:
            file.writelines(self._records[index] for index in order)
        self._records, self._bytes = [], 0
        self._columns = {name: [] for name in _DTYPES}


def _index_in_row(rows: np.ndarray, seen: Counter[int]) -> np.ndarray:
    """Compute the index of each example among the examples of its row: (n,)."""
    numbers = []
    for row in rows.tolist():
        numbers.append(seen[row])
        seen[row] += 1
    return np.array(numbers)


def _characters(value: Any) -> int:
    """Count the characters of a text, or of a list of texts, or the bytes of a file."""
    if isinstance(value, list):
        return sum(len(text) for text in value if isinstance(text, str))
    return len(value) if isinstance(value, str | bytes) else 0


def _batches(
    rows: Iterator[Row], split_of_row: np.ndarray, buffers: list[_Buffer]
) -> Iterator[tuple[_Buffer, list[int], list[Row]]]:
    """Group rows of one split into batches, with their indices in the part."""
    waiting: list[tuple[list[int], list[Row], list[int]]] = [([], [], [0]) for _ in buffers]
    for index, row in enumerate(rows):
        if split_of_row[index] == DROPPED:
            continue
        indices, some, [characters] = waiting[split_of_row[index]]
        more = sum(map(_characters, row.fields.values()))
        if some and (len(some) == MAX_BATCH_ROWS or characters + more > MAX_BATCH_CHARACTERS):
            yield buffers[split_of_row[index]], indices, some
            indices, some, characters = [], [], 0
        indices.append(index)
        some.append(row)
        waiting[split_of_row[index]] = indices, some, [characters + more]
    for buffer, (indices, some, _) in zip(buffers, waiting, strict=True):
        if some:
            yield buffer, indices, some
