"""The gather step: merge the records of all parts into shards sorted by key, independent of the engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tfattn.data.engines import results
from tfattn.data.engines.results import Folder, Result, reading, result
from tfattn.data.examples.encoding import have_classes
from tfattn.data.preparation import arrays
from tfattn.data.preparation.scatter import SCATTERED
from tfattn.data.preparation.units import Rows, Work
from tfattn.data.records import ROWS_PER_SHARD, shard_name, write_shard
from tfattn.features import LABEL_IDS

GATHERED = "gather"
SHARDS_AT_ONCE = 16
_COLUMNS = ("keys", "rows", "lengths", "label_ids")


@dataclass(frozen=True)
class Shards:
    """A unit of consecutive shards of a split.

    Attributes:
        split: "train", "validation" or "test".
        first: index of the first shard.
        total: number of shards of the split.
        bounds: the lowest key of each shard, and of the next shard after them; None after the last shard.
        parts: the names of all parts.
    """

    split: str
    first: int
    total: int
    bounds: tuple[int | None, ...]
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.split}-{self.first:05d}-of-{self.total:05d}"


def shards(folder: Folder, split: str, parts: Sequence[Rows]) -> Iterator[Shards]:
    """Divide the records of a split, in the order of their keys, into shards of the same size.

    Args:
        folder: the folder of the `Work`.
        split: "train", "validation" or "test".
        parts: all parts.
    """
    names = tuple(part.name for part in parts)
    scattered = results.all_opened(folder / SCATTERED, names)
    keys = np.sort(arrays.concatenate([part / f"{split}.keys.npy" for part in scattered]))
    lowest = np.unique(keys[::ROWS_PER_SHARD]).tolist()  # examples with the same key stay in one shard
    for first in range(0, len(lowest), SHARDS_AT_ONCE):
        next_bound = lowest[first + SHARDS_AT_ONCE] if first + SHARDS_AT_ONCE < len(lowest) else None
        bounds = (*lowest[first : first + SHARDS_AT_ONCE], next_bound)
        yield Shards(split, first, len(lowest), bounds, names)


def gather(work: Work, unit: Shards) -> None:
    """Write shards from the records of all parts."""
    scattered = work.folder / SCATTERED
    with reading(scattered):
        found = results.all_opened(scattered, unit.parts)
        parts = results.each(lambda part: _Part(part, unit.split, unit.bounds), found, location=scattered)
    with result(work.folder / GATHERED, unit.name) as folder:
        for index in range(len(unit.bounds) - 1):
            with reading(scattered):
                found = results.each(lambda part, index=index: part.of_shard(index), parts, location=scattered)
            found = [(some, columns) for some, columns in found if some]
            columns = {name: np.concatenate([part[name] for _, part in found]) for name in found[0][1]}
            records = [record for some, _ in found for record in some]
            order = np.argsort(columns.pop("keys"), kind="stable")
            labelled = have_classes(work.features)
            write_shard(
                folder / shard_name(unit.split, unit.first + index, unit.total),
                (records[row] for row in order),
                **{name: values[order] for name, values in columns.items() if labelled or name != LABEL_IDS},
            )


class _Part:
    """The records of a part for consecutive shards, in runs sorted by key.

    Columns, a few bytes per record, are read at once; the records of a shard are read on demand.
    """

    def __init__(self, folder: Result, split: str, bounds: Sequence[int | None]):
        self._records = folder / f"{split}.records"
        columns = {name: arrays.opened(folder / f"{split}.{name}.npy") for name in _COLUMNS}
        offsets = arrays.opened(folder / f"{split}.offsets.npy")
        keys = np.array([bound for bound in bounds if bound is not None], np.uint64)
        self._runs = []  # of each run: starts of the shards, columns, offsets in the file of records
        for first, last in pairwise(arrays.load(folder / f"{split}.runs.npy").tolist()):
            starts = (first + np.searchsorted(columns["keys"][first:last], keys)).tolist()
            starts += [last] * (len(bounds) - len(starts))
            read = {name: np.array(values[starts[0] : starts[-1]]) for name, values in columns.items()}
            positions = np.array(offsets[starts[0] : starts[-1] + 1])
            self._runs.append(([begin - starts[0] for begin in starts], read, positions))

    def of_shard(self, index: int) -> tuple[list[bytes], dict[str, np.ndarray]]:
        """Read the records and columns of the shard with an index in the unit."""
        found, records = [], []
        for starts, columns, positions in self._runs:
            begin, end = starts[index : index + 2]
            records += self._read(positions[begin : end + 1])
            found.append({name: values[begin:end] for name, values in columns.items()})
        return records, {name: np.concatenate([some[name] for some in found]) for name in _COLUMNS}

    def _read(self, positions: np.ndarray) -> list[bytes]:
        if len(positions) < 2:
            return []
        with self._records.open("rb") as file:
            file.seek(int(positions[0]))
            data = file.read(int(positions[-1] - positions[0]))
        if len(data) != positions[-1] - positions[0]:
            raise EOFError(f"{self._records} ends too soon")
        return [data[start:stop] for start, stop in pairwise((positions - positions[0]).tolist())]
