"""From the records of all parts to shards, each sorted by its keys: the same whatever process wrote which part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from tfattn.data.encoding import have_classes
from tfattn.data.records import ROWS_PER_SHARD, shard_name, write_shard
from tfattn.data.scatter import SCATTERED
from tfattn.data.units import Rows, Work, reading, result
from tfattn.features import LABEL_IDS

GATHERED = "gather"
SHARDS_AT_ONCE = 16


@dataclass(frozen=True)
class Shards:
    """Some consecutive shards of a split.

    Attributes:
        split: "train", "validation" or "test".
        first: the number of the first.
        total: how many shards the split has.
        bounds: the lowest key of each, and that of the one behind them; None behind the last.
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


def shards(folder: Path, split: str, parts: Sequence[Rows]) -> Iterator[Shards]:
    """Divide the records of a split, in the order of their keys, into shards of the same size.

    Args:
        folder: of the `Work` of `scatter`.
        split: which.
        parts: all of them.
    """
    names = tuple(part.name for part in parts)
    keys = np.sort(np.concatenate([np.load(folder / SCATTERED / name / f"{split}.keys.npy") for name in names]))
    lowest = np.unique(keys[::ROWS_PER_SHARD]).tolist()  # examples of one row stay together
    for first in range(0, len(lowest), SHARDS_AT_ONCE):
        behind = lowest[first + SHARDS_AT_ONCE] if first + SHARDS_AT_ONCE < len(lowest) else None
        bounds = (*lowest[first : first + SHARDS_AT_ONCE], behind)
        yield Shards(split, first, len(lowest), bounds, names)


def gather(work: Work, unit: Shards) -> None:
    """Write some shards, from what all parts hold of them."""
    with reading(work.folder / SCATTERED):
        parts = [_Part(work.folder / SCATTERED / name, unit.split) for name in unit.parts]
    with result(work.folder / GATHERED, unit.name) as folder:
        for number, (low, high) in enumerate(zip(unit.bounds, unit.bounds[1:], strict=False), start=unit.first):
            with reading(work.folder / SCATTERED):
                found = [part.between(low, high) for part in parts]
            found = [(some, columns) for some, columns in found if some]
            columns = {name: np.concatenate([one[name] for _, one in found]) for name in found[0][1]}
            records = [record for some, _ in found for record in some]
            order = np.argsort(columns.pop("keys"), kind="stable")
            labelled = have_classes(work.features)
            write_shard(
                folder / shard_name(unit.split, number, unit.total),
                (records[place] for place in order),
                **{name: values[order] for name, values in columns.items() if labelled or name != LABEL_IDS},
            )


class _Part:
    """The records of a split that one part has, in runs of which each is sorted by its keys."""

    def __init__(self, folder: Path, split: str):
        self._records = folder / f"{split}.records"
        names = ("keys", "rows", "lengths", "label_ids")
        self._columns = {name: np.load(folder / f"{split}.{name}.npy", mmap_mode="r") for name in names}
        self._offsets = np.load(folder / f"{split}.offsets.npy", mmap_mode="r")
        self._runs = np.load(folder / f"{split}.runs.npy").tolist()

    def between(self, low: int, high: int | None) -> tuple[list[bytes], dict[str, np.ndarray]]:
        """Read the records from one key to below another, and their columns."""
        found, records = [], []
        for first, last in pairwise(self._runs):
            keys = self._columns["keys"][first:last]
            begin = first + int(np.searchsorted(keys, np.uint64(low)))
            end = last if high is None else first + int(np.searchsorted(keys, np.uint64(high)))
            records += self._read(begin, end)
            found.append({name: values[begin:end] for name, values in self._columns.items()})
        return records, {name: np.concatenate([some[name] for some in found]) for name in self._columns}

    def _read(self, begin: int, end: int) -> list[bytes]:
        offsets = self._offsets[begin : end + 1]
        with open(self._records, "rb") as file:
            file.seek(int(offsets[0]))
            data = file.read(int(offsets[-1] - offsets[0]))
        if len(data) != offsets[-1] - offsets[0]:
            raise EOFError(f"{self._records} ends too soon")
        return [data[start:stop] for start, stop in pairwise((offsets - offsets[0]).tolist())]
