"""The facts about an export, card.json, for the page of the built-in server and for the model card README.md.

exported        time of the export, ISO 8601, UTC
inputs          input name to `ServableModel.metadata` of the input and `column`, its column in the source files; in the
                order in which the model reads them
examples        validation rows as requests; null for a missing number, {"b64": "..."} for an image
entries         output name to the names of its entries
positive        the positive label of a classifier, if it has one
threshold       the minimum score of the positive label, or of every label, if a threshold was chosen
temperature     the temperature of the scores, if they are calibrated
coverage        the requested coverage of prediction sets or intervals, if there are any
metrics         results of the evaluation, by the names of metrics.json
measured_on     the evaluated split, such as "test"
trained_baseline  the comparison with a trained baseline, by the names of metrics.json; {} without
warnings        the warnings of the report, a sentence each
data            `rows`, the number of rows of each split, and `sources`, `path` and `sha256` by key of the data section;
                {} without
pretrained      the pretrained weights of the model, by key: `from` (address with its revision, or folder), `license`,
                `language` and `sha256` of each file; {} without
litert          the comparison of each LiteRT file with the trained model, by precision; {} without
"""

import base64
import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.export.servable_model import ServableModel
from tfattn.formats.columns import Columns

FILE = Path("assets.extra") / "card.json"
MAX_EXAMPLES = 5
MAX_CHARACTERS = 1000  # of an example: examples must be readable at a glance
MAX_BYTES = 50_000  # of an image: the page loads the whole card


def write(
    folder: Path,
    served: ServableModel,
    *,
    rows: Sequence[Mapping[str, str]],
    columns: Mapping[str, Columns],
    metrics: Mapping[str, float],
    measured_on: str,
    warnings: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    origins: Mapping[str, Mapping[str, Any]] | None = None,
    litert: Mapping[str, Any] | None = None,
) -> None:
    """Write the card of a version.

    Args:
        folder: the version's folder.
        served: the exported model.
        rows: raw validation rows.
        columns: input name to column; inputs of several columns get no `column` in the card.
        metrics: results of the evaluation; the card has `served.headline_metrics` and their confidence intervals.
        measured_on: the evaluated split.
        warnings: the warnings of the report.
        data: the rows of each split, and the sources.
        origins: the source of the pretrained weights, by key; see `Pretrained.origin`.
        litert: the comparisons of LiteRT files, by precision; see `litert_files.write`.
    """
    metadata = served.metadata()
    named = {name: column for name, column in columns.items() if isinstance(column, str)}
    inputs = {name: {**properties, "column": named.get(name, name)} for name, properties in metadata["inputs"].items()}
    card = {
        "exported": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **metadata,
        "inputs": inputs,
        "examples": _examples(served, rows),
        "metrics": {
            name: metrics[name]
            for metric in served.headline_metrics
            for name in (metric, f"{metric}_low", f"{metric}_high")
            if name in metrics
        },
        "measured_on": measured_on,
        "trained_baseline": {name: value for name, value in metrics.items() if "trained_baseline" in name},
        "warnings": list(warnings),
        "data": dict(data or {}),
        "pretrained": dict(origins or {}),
        "litert": dict(litert or {}),
    }
    files.write_json(folder / FILE, card)


def _examples(served: ServableModel, rows: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return a few distinct readable rows, evenly spaced."""
    columns = served.request(rows)
    examples = [dict(zip(columns, map(_plain, values), strict=True)) for values in zip(*columns.values(), strict=True)]
    readable = [example for example in examples if _is_readable(example)]
    positions = np.linspace(0, len(readable) - 1, min(MAX_EXAMPLES, len(readable))).astype(int)
    chosen = [readable[index] for index in positions]
    return [example for index, example in enumerate(chosen) if example not in chosen[:index]]


def _plain(value: float | str | bytes | list[str]) -> float | str | list[str] | dict[str, str] | None:
    """Convert a value to JSON: numbers in float32 precision, lists without empty texts, bytes in base64."""
    if isinstance(value, list):
        return [text for text in value if text]
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return float(str(np.float32(value))) if math.isfinite(value) else None


def _is_readable(example: Mapping[str, Any]) -> bool:
    if any(isinstance(value, dict) and len(value["b64"]) > MAX_BYTES for value in example.values()):
        return False
    values = [item for value in example.values() for item in (value if isinstance(value, list) else [value])]
    texts = [value for value in values if isinstance(value, str)]
    return sum(map(len, texts)) <= MAX_CHARACTERS and any(str(value).strip() for value in values)
