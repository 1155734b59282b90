"""The card of an export: what a person wants to know who tries it, as the page of the built-in server shows it.

exported        when, ISO 8601, in UTC
inputs          by name, in the order in which the model reads them: what `Served.about` says of each, and `column`,
                the column of the source files that it was read from
examples        validation rows as requests hold them; null where a number is missing, {"b64": "..."} for an image
entries         by output, the names of its entries
positive        of a classifier, the label that it looks for, where there is one
threshold       the score from which on it gives this label, where one was chosen, or any label
metrics         what the evaluation measured, by the names of metrics.json
measured_on     the rows that were measured, such as "test"
"""

import base64
import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.export.served import Served
from tfattn.formats.columns import Columns

FILE = Path("assets.extra") / "card.json"
MOST_EXAMPLES = 5
MOST_CHARACTERS = 1000  # of an example: a person is to read it at a glance
MOST_BYTES = 50_000  # of an image: the card is read with the page


def write(
    folder: Path,
    served: Served,
    *,
    rows: Sequence[Mapping[str, str]],
    columns: Mapping[str, Columns],
    metrics: Mapping[str, float],
    measured_on: str,
) -> None:
    """Write the card of a version.

    Args:
        folder: the version's folder.
        served: what is exported.
        rows: raw validation rows.
        columns: input to column, or to columns, of which the card tells nothing.
        metrics: what the evaluation measured; of these the card tells `served.shown_metrics`, with their intervals.
        measured_on: the split that was measured.
    """
    about = served.about()
    named = {name: column for name, column in columns.items() if isinstance(column, str)}
    inputs = {name: {**known, "column": named.get(name, name)} for name, known in about["inputs"].items()}
    card = {
        "exported": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **about,
        "inputs": inputs,
        "examples": _examples(served, rows),
        "metrics": {
            name: metrics[name]
            for metric in served.shown_metrics
            for name in (metric, f"{metric}_low", f"{metric}_high")
            if name in metrics
        },
        "measured_on": measured_on,
    }
    files.write_json(folder / FILE, card)


def _examples(served: Served, rows: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Choose a few rows that differ, evenly."""
    columns = served.request(rows)
    examples = [dict(zip(columns, map(_plain, values), strict=True)) for values in zip(*columns.values(), strict=True)]
    shown = [example for example in examples if _is_readable(example)]
    places = np.linspace(0, len(shown) - 1, min(MOST_EXAMPLES, len(shown))).astype(int)
    chosen = [shown[place] for place in places]
    return [example for place, example in enumerate(chosen) if example not in chosen[:place]]


def _plain(value: float | str | bytes | list[str]) -> float | str | list[str] | dict[str, str] | None:
    """As JSON can hold it: a number in as few digits as float32 has, a list without empty texts, bytes in base64."""
    if isinstance(value, list):
        return [text for text in value if text]
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return float(str(np.float32(value))) if math.isfinite(value) else None


def _is_readable(example: Mapping[str, Any]) -> bool:
    if any(isinstance(value, dict) and len(value["b64"]) > MOST_BYTES for value in example.values()):
        return False
    values = [one for value in example.values() for one in (value if isinstance(value, list) else [value])]
    texts = [value for value in values if isinstance(value, str)]
    return sum(map(len, texts)) <= MOST_CHARACTERS and any(str(value).strip() for value in values)
