"""Raw rows of evaluation splits, stored next to their records as JSON lines in the order of the file."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.data.records import PREPARE_AGAIN
from tfattn.formats.source import Row


def line_of_row(row: Row) -> str:
    """Return the line of a row in `<split>.jsonl`: the fields of the row, and its file and line as `row`.

    Bytes are encoded as in requests of TF Serving: `{"b64": "..."}`.
    """
    return json.dumps({"row": row.where, **row.fields}, ensure_ascii=False, default=_to_base64) + "\n"


def read_rows(folder: str | Path, split: str) -> list[dict[str, Any]]:
    """Read the raw rows of a split of a prepared folder.

    Raises:
        DataError: the file is missing or damaged.
    """
    files.verify(folder, f"{split}.jsonl", remedy=PREPARE_AGAIN)
    rows = files.read_json_lines(Path(folder) / f"{split}.jsonl", dict[str, Any], remedy=PREPARE_AGAIN)
    return [{name: _from_base64(value) for name, value in row.items()} for row in rows]


def _to_base64(data: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(data).decode()}


def _from_base64(value: Any) -> Any:
    is_file = isinstance(value, dict) and value.keys() == {"b64"}
    return base64.b64decode(value["b64"]) if is_file else value


def read_leaked(folder: str | Path, split: str) -> np.ndarray:
    """Read which rows of a split have the same content as a training row: (N,) bool.

    Raises:
        DataError: the file is missing or damaged.
    """
    files.verify(folder, f"{split}.leaked.npy", remedy=PREPARE_AGAIN)
    return np.load(Path(folder) / f"{split}.leaked.npy", allow_pickle=False)
