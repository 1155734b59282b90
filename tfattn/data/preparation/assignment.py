"""Splits, sort keys and row numbers of the rows of a part, which are computed before records are written."""

from dataclasses import dataclass

import numpy as np

from tfattn.data.engines import results
from tfattn.data.engines.results import Folder, reading, result
from tfattn.data.preparation import arrays
from tfattn.data.preparation.split_assignment import SPLITS
from tfattn.data.preparation.units import Rows
from tfattn.data.split_config import TRAIN
from tfattn.data.splitmix64 import row_keys

FOLDER = "assignment"


@dataclass(frozen=True)
class Assigned:
    """The assignment of the n complete rows of a part.

    Attributes:
        split_of_row: (n,) int8, indices in SPLITS, or DROPPED.
        seeds: (n,) uint64, random seeds of the examples of each row.
        keys: (n,) uint64, sort keys of records: random for training, otherwise the order of the file.
        numbers: (n,) int64, the index of each row in its split, in the order of the file.
        is_leaked: (n,) bool, whether a training row has the same content.
    """

    split_of_row: np.ndarray
    seeds: np.ndarray
    keys: np.ndarray
    numbers: np.ndarray
    is_leaked: np.ndarray


def write(folder: Folder, *, starts: np.ndarray, split_of_row: np.ndarray, is_leaked: np.ndarray) -> None:
    """Write the assignment of all N rows, for `read`.

    Args:
        folder: the folder of a `Work`.
        starts: (parts + 1,), the index of the first row of each part, and N.
        split_of_row: (N,) int8, indices in SPLITS, or DROPPED.
        is_leaked: (N,) bool, whether a training row has the same content.
    """
    before = np.zeros((len(starts), len(SPLITS)), np.int64)  # rows of each split before each part
    for number, (begin, end) in enumerate(zip(starts, starts[1:], strict=False)):
        before[number + 1] = before[number] + _count(split_of_row[begin:end])
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


def _count(split_of_row: np.ndarray) -> np.ndarray:
    """Count the rows of each split; dropped rows are not counted."""
    return np.bincount(split_of_row, minlength=len(SPLITS))[: len(SPLITS)]
