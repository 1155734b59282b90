"""The summary of prepared data: classes, lengths and findings, printed before training."""

from collections import Counter
from pathlib import Path
from typing import Literal, NotRequired

import numpy as np
from pydantic import ConfigDict
from typing_extensions import TypedDict

from tfattn import files
from tfattn.console import note, table
from tfattn.data.preparation.findings import brief, findings, sentences
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.split_config import TRAIN
from tfattn.preprocessing.unknown import Unknown

SUMMARY = "summary.json"
SHOWN_CLASSES = 30
SHOWN_VALUES = 10


class Finding(TypedDict):
    """The number of rows, and the locations of the first."""

    rows: int
    first: list[str]


class UnknownValues(TypedDict):
    """The number of unknown tokens or values, and the most frequent."""

    counted: int
    unknown: int
    fraction: float
    most_frequent: dict[str, int]


class Summary(TypedDict):
    """The summary of prepared data.

    Attributes:
        made_of: the kind of inputs.
        rows: number of rows of each split.
        classes: for each class, the most frequent first, the rows of each split; empty without classes.
        tokens: statistics of tokens per row: shortest, median, mean, 95 %, longest; missing without tokens.
        missing: by role, rows dropped because they lack a value.
        empty: by column of a table, rows that lack a value and are kept.
        remarks: by remark on targets, the rows.
        left_out: training rows excluded by the limits of the preprocessing.
        truncated: for each split, rows truncated by the preprocessing.
        duplicates: rows with the same inputs as an earlier row.
        conflicts: rows with the same inputs as a row with another label.
        crossing: for each evaluation split, rows with the same inputs as a training row.
        unknown: by field and split, unknown tokens or values.
        unknown_remedy: remedy for many unknown tokens or values.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    made_of: Literal["texts", "columns", "images"]
    rows: dict[str, int]
    classes: dict[str, dict[str, int]]
    tokens: NotRequired[dict[str, dict[str, int | float]]]
    missing: dict[str, Finding]
    empty: NotRequired[dict[str, Finding]]
    remarks: NotRequired[dict[str, Finding]]
    left_out: Finding
    truncated: dict[str, Finding]
    duplicates: Finding
    conflicts: Finding
    crossing: dict[str, Finding]
    unknown: dict[str, dict[str, UnknownValues]]
    unknown_remedy: str


class SplitFindings(TypedDict):
    """Statistics of the encoded rows of a split.

    Attributes:
        rows: number of rows.
        classes: number of rows of each class.
        left_out: rows excluded by the limits of the preprocessing.
        truncated: rows truncated by the preprocessing.
        unknown: by field, unknown tokens or values.
    """

    rows: int
    classes: Counter[str]
    left_out: Finding
    truncated: Finding
    unknown: dict[str, Unknown]


def summarize(
    splits: dict[str, SplitFindings],
    *,
    made_of: Literal["texts", "columns", "images"],
    missing: dict[str, Finding],
    empty: dict[str, Finding],
    remarks: dict[str, Finding],
    duplicates: Finding,
    conflicts: Finding,
    crossing: dict[str, Finding],
    lengths: dict[str, np.ndarray],
    unknown_remedy: str,
) -> Summary:
    """Build the summary, for `show` and for summary.json.

    Args:
        splits: statistics of each split.
        lengths: tokens per record of each split, or of each side of each split; empty without tokens.
        made_of, missing, empty, remarks, duplicates, conflicts, crossing, unknown_remedy: see `Summary`.
    """
    total = sum((found["classes"] for found in splits.values()), Counter())
    return {
        "made_of": made_of,
        "rows": {split: found["rows"] for split, found in splits.items()},
        "classes": {
            name: {split: found["classes"][name] for split, found in splits.items()} for name, _ in total.most_common()
        },
        **({"tokens": {name: _spread(tokens) for name, tokens in lengths.items()}} if lengths else {}),
        "missing": missing,
        **({"empty": empty} if empty else {}),
        **({"remarks": remarks} if remarks else {}),
        "left_out": splits[TRAIN]["left_out"],
        "truncated": {split: found["truncated"] for split, found in splits.items()},
        "duplicates": duplicates,
        "conflicts": conflicts,
        "crossing": crossing,
        "unknown": _unknown({split: found["unknown"] for split, found in splits.items()}),
        "unknown_remedy": unknown_remedy,
    }


def show(summary: Summary) -> None:
    """Print a summary to the console."""
    splits = list(summary["rows"])
    classes = [[name, *counts.values()] for name, counts in summary["classes"].items()]
    more = [[f"... {len(classes) - SHOWN_CLASSES} more", *[""] * len(splits)]] if len(classes) > SHOWN_CLASSES else []
    table(
        "Rows",
        ["class" if classes else "", *splits],
        [*classes[:SHOWN_CLASSES], *more, ["all", *summary["rows"].values()]],
    )
    if "tokens" in summary:
        table(
            "Tokens per row",
            ["", *next(iter(summary["tokens"].values()))],
            [[name, *spread.values()] for name, spread in summary["tokens"].items()],
        )
    if found := findings(summary):
        rows = [[what, finding["rows"], brief(finding["first"])] for what, finding in found.items()]
        table("Worth a look", ["what", "rows", "such as"], rows)
    for sentence in sentences(summary):
        note(sentence)


def read_summary(folder: str | Path) -> Summary:
    """Read the summary of a prepared folder.

    Raises:
        DataError: the file or the manifest is missing or damaged.
    """
    files.verify(folder, SUMMARY, remedy=PREPARE_AGAIN)
    return files.read_json(Path(folder) / SUMMARY, Summary, remedy=PREPARE_AGAIN)


def _unknown(unknown: dict[str, dict[str, Unknown]]) -> dict[str, dict[str, UnknownValues]]:
    """Group the unknown values by field, then by split, as JSON values."""
    return {
        name: {
            split: {
                "counted": of_split[name].counted,
                "unknown": of_split[name].unknown,
                "fraction": round(of_split[name].fraction, 4),
                "most_frequent": dict(of_split[name].values.most_common(SHOWN_VALUES)),
            }
            for split, of_split in unknown.items()
        }
        for name in next(iter(unknown.values()), {})
    }


def _spread(tokens: np.ndarray) -> dict[str, float]:
    return {
        "shortest": int(tokens.min()),
        "median": round(float(np.median(tokens))),
        "mean": round(float(tokens.mean()), 2),
        "95 %": round(float(np.percentile(tokens, 95))),
        "longest": int(tokens.max()),
    }
