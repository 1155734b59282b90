"""The raw rows of the splits that measure, beside their records: JSON lines, in the order of the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.source import Row


def line_of_row(row: Row) -> str:
    """Make a line of `<split>.jsonl`: the fields of a row, and as `row` its file and line."""
    return json.dumps({"row": row.where, **row.fields}, ensure_ascii=False) + "\n"


def read_rows(folder: str | Path, split: str) -> list[dict[str, Any]]:
    """Read the raw rows of a split of a prepared folder.

    Raises:
        DataError: the file is missing or damaged.
    """
    files.verify(folder, f"{split}.jsonl", remedy=PREPARE_AGAIN)
    return files.read_json_lines(Path(folder) / f"{split}.jsonl", dict[str, Any], remedy=PREPARE_AGAIN)


def read_leaked(folder: str | Path, split: str) -> np.ndarray:
    """Read which of these rows, (N,) bool, say the same as a training row.

    Raises:
        DataError: the file is missing or damaged.
    """
    files.verify(folder, f"{split}.leaked.npy", remedy=PREPARE_AGAIN)
    return np.load(Path(folder) / f"{split}.leaked.npy", allow_pickle=False)
