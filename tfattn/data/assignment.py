"""What every part must know before its rows are written: their splits, their numbers, what records hold."""

from dataclasses import dataclass

import numpy as np

from tfattn.data import arrays, results
from tfattn.data.results import Folder, reading, result
from tfattn.data.split_assignment import SPLITS
from tfattn.data.split_config import TRAIN
from tfattn.data.splitmix64 import row_keys
from tfattn.data.units import Rows

FOLDER = "assignment"


@dataclass(frozen=True)
class Assigned:
    """The assignment of the n complete rows of a part.

    Attributes:
        split_of_row: (n,) int8, places in SPLITS.
        seeds: (n,) uint64, random numbers, from which the examples of each row are drawn.
        keys: (n,) uint64, what records are sorted by: random in training, else the order of the file.
        numbers: (n,) int64, the place of each row among those of its split, in the order of the file.
        is_leaked: (n,) whether a training row says the same.
    """

    split_of_row: np.ndarray
    seeds: np.ndarray
    keys: np.ndarray
    numbers: np.ndarray
    is_leaked: np.ndarray


def write(folder: Folder, *, starts: np.ndarray, split_of_row: np.ndarray, is_leaked: np.ndarray) -> None:
    """Write what `read` reads, into the folder of a `Work`.

    Args:
        folder: where to.
        starts: (parts + 1,), the number of the first of the N rows of each part, and N.
        split_of_row: (N,) int8, places in SPLITS.
        is_leaked: (N,) whether a training row says the same.
    """
    before = np.zeros((len(starts), len(SPLITS)), np.int64)  # rows of each split before each part
    for number, (begin, end) in enumerate(zip(starts, starts[1:], strict=False)):
        before[number + 1] = before[number] + np.bincount(split_of_row[begin:end], minlength=len(SPLITS))
    with result(folder, FOLDER) as new:
        for name, values in {"starts": starts, "before": before, "splits": split_of_row, "leaked": is_leaked}.items():
            np.save(new / f"{name}.npy", values)


def read(folder: Folder, unit: Rows, seed: int) -> Assigned:
    """Read the assignment of the rows of a part."""
    with reading(folder / FOLDER):
        written = results.opened(folder, FOLDER)
        columns = {name: arrays.opened(written / f"{name}.npy") for name in ("starts", "before", "splits", "leaked")}
        begin, end = columns["starts"][unit.number : unit.number + 2]
        split_of_row, before = np.array(columns["splits"][begin:end]), columns["before"][unit.number]
        is_leaked = np.array(columns["leaked"][begin:end])
    rows = np.arange(begin, end)
    numbers = np.empty(len(rows), np.int64)
    for split in range(len(SPLITS)):
        mine = split_of_row == split
        numbers[mine] = before[split] + np.arange(np.count_nonzero(mine))
    is_training = split_of_row == SPLITS.index(TRAIN)
    seeds = row_keys(rows, seed)
    return Assigned(
        split_of_row=split_of_row,
        seeds=seeds,
        keys=np.where(is_training, seeds, rows.astype(np.uint64)),
        numbers=numbers,
        is_leaked=is_leaked,
    )
