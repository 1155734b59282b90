"""What stands in the data, said before anything is trained on them: classes, lengths, and what is worth a look."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Literal, NotRequired

import numpy as np
from pydantic import ConfigDict
from typing_extensions import TypedDict

from tfattn import files
from tfattn.console import note, table
from tfattn.data.findings import findings, sentences
from tfattn.data.records import PREPARE_AGAIN
from tfattn.data.split_config import TRAIN
from tfattn.preprocessing.unknown import Unknown

SUMMARY = "summary.json"
SHOWN_CLASSES = 30
SHOWN_VALUES = 10


class Finding(TypedDict):
    """How many rows, and the places of the first."""

    rows: int
    first: list[str]


class UnknownValues(TypedDict):
    """How many tokens, or values of a column, the preprocessing does not know, and the most frequent of them."""

    counted: int
    unknown: int
    fraction: float
    most_frequent: dict[str, int]


class Summary(TypedDict):
    """What stands in the data.

    Attributes:
        made_of: what rows consist of.
        rows: of each split.
        classes: of each class, the most frequent first, the rows of each split; empty where rows have no classes.
        tokens: where rows have tokens, by rows: shortest, median, mean, 95 %, longest.
        missing: by role, rows left out because they have no value for it.
        remarks: by what is worth a look in the targets of rows, which have it.
        left_out: training rows that the limits of preprocessing leave out.
        truncated: of each split, rows cut at the limit of preprocessing.
        duplicates: rows whose text, or columns, an earlier row has.
        conflicts: rows whose text another row has with another label.
        crossing: of each split that measures, rows whose text a training row has.
        unknown: by field and split, what the preprocessing does not know.
        unknown_remedy: what to do where that is much.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    made_of: Literal["texts", "columns", "images"]
    rows: dict[str, int]
    classes: dict[str, dict[str, int]]
    tokens: NotRequired[dict[str, dict[str, int | float]]]
    missing: dict[str, Finding]
    remarks: NotRequired[dict[str, Finding]]
    left_out: Finding
    truncated: dict[str, Finding]
    duplicates: Finding
    conflicts: Finding
    crossing: dict[str, Finding]
    unknown: dict[str, dict[str, UnknownValues]]
    unknown_remedy: str


class SplitFindings(TypedDict):
    """What was found as the rows of a split were encoded.

    Attributes:
        rows: how many were.
        classes: rows of each class.
        left_out: rows that the limits of preprocessing leave out.
        truncated: rows cut at the limit of preprocessing.
        unknown: by field, what the preprocessing does not know.
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
    remarks: dict[str, Finding],
    duplicates: Finding,
    conflicts: Finding,
    crossing: dict[str, Finding],
    lengths: dict[str, np.ndarray],
    unknown_remedy: str,
) -> Summary:
    """Collect what `show` prints and summary.json keeps.

    Args:
        splits: by name.
        lengths: tokens per record of each split, or of each side of each split; empty where rows have no tokens.
        made_of, missing, remarks, duplicates, conflicts, crossing, unknown_remedy: as `Summary` has them.
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
    """Print a summary for people."""
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
        rows = [[what, finding["rows"], _brief(finding["first"])] for what, finding in found.items()]
        table("Worth a look", ["what", "rows", "such as"], rows)
    for sentence in sentences(summary):
        note(sentence)


def read_summary(folder: str | Path) -> Summary:
    """Read the summary of a prepared folder.

    Raises:
        DataError: the file, or the manifest beside it, is missing or damaged.
    """
    files.verify(folder, SUMMARY, remedy=PREPARE_AGAIN)
    return files.read_json(Path(folder) / SUMMARY, Summary, remedy=PREPARE_AGAIN)


def _unknown(unknown: dict[str, dict[str, Unknown]]) -> dict[str, dict[str, UnknownValues]]:
    """Split and field to field and split, as JSON holds it."""
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


def _brief(locations: list[str]) -> str:
    """`reports.csv:12, 40` for a table."""
    lines: dict[str, list[str]] = defaultdict(list)
    for location in locations:
        file, _, line = location.rpartition(":")
        is_line = line.isdecimal()
        lines[Path(file if is_line else location).name] += [line] if is_line else []
    return "; ".join(f"{file}:{', '.join(numbers)}" if numbers else file for file, numbers in lines.items())


def _spread(tokens: np.ndarray) -> dict[str, float]:
    return {
        "shortest": int(tokens.min()),
        "median": round(float(np.median(tokens))),
        "mean": round(float(tokens.mean()), 2),
        "95 %": round(float(np.percentile(tokens, 95))),
        "longest": int(tokens.max()),
    }
