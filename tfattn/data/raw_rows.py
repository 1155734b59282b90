"""The raw rows of the splits that measure, beside their records: JSON lines, in the order of the records."""

import json
from collections.abc import Iterable
from pathlib import Path

from tfattn import files
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.source import Row


def write_rows(folder: Path, split: str, rows: Iterable[Row]) -> None:
    """Writes `<split>.jsonl`: the fields of each row, and as `row` its file and line."""
    lines = (json.dumps({"row": row.where, **row.fields}, ensure_ascii=False) for row in rows)
    files.write_text(folder / f"{split}.jsonl", "".join(f"{line}\n" for line in lines))


def read_rows(folder: str | Path, split: str) -> list[dict[str, str]]:
    """Reads what `write_rows` wrote into a prepared folder.

    Raises:
        DataError: the file is missing or damaged.
    """
    files.verify(folder, f"{split}.jsonl", remedy=PREPARE_AGAIN)
    return files.read_json_lines(Path(folder) / f"{split}.jsonl", dict[str, str], remedy=PREPARE_AGAIN)
