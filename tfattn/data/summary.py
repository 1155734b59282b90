"""What stands in the data, said before anything is trained on them: classes, lengths, and what is worth a look."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tfattn.console import note, table
from tfattn.data.findings import findings, sentences
from tfattn.data.source import Row
from tfattn.data.split import TRAIN
from tfattn.preprocessing.unknown import Unknown

SHOWN_ROWS = 5
SHOWN_CLASSES = 30
SHOWN_VALUES = 10


def summarize(
    parts: dict[str, list[Row]],
    *,
    made_of: Literal["texts", "columns"],
    classes: dict[str, list[str]],
    roles: Sequence[str],
    dropped: dict[str, list[str]],
    left_out: list[str],
    lengths: dict[str, np.ndarray],
    truncated: dict[str, list[str]],
    unknown: dict[str, dict[str, Unknown]],
    unknown_remedy: str,
) -> dict[str, Any]:
    """Collects the figures that `show` prints and summary.json keeps.

        made_of     texts, or columns
        rows        {split: rows}
        classes     {class: {split: rows}}, the most frequent first; empty where rows have no labels
        tokens      where rows have tokens: {rows: shortest, median, mean, 95 %, longest}
        missing     {role: finding}: rows left out because they have no value for it
        left_out    finding: training rows that the limits of preprocessing leave out
        truncated   {split: finding}: rows cut at the limit of preprocessing
        duplicates  finding: rows whose text, or columns, an earlier row has
        conflicts   finding: rows whose text another row has with another label
        crossing    {split: finding}: rows whose text a training row has
        unknown     {field: {split: {counted, unknown, fraction, most_frequent}}}: tokens, or values of a column, that
                    the preprocessing does not know
        unknown_remedy  what to do where these are many

    A finding counts rows and names the first.

    Args:
        parts: the rows of each split.
        made_of: what rows consist of.
        classes: the class of each row of each split, "" where it has none.
        roles: the fields that are compared to find duplicates.
        dropped: for each role, the places of rows that were left out because they lack it.
        left_out: the places of training rows that were left out for their lengths.
        lengths: tokens per row of each split, or of each side of each split; empty where rows have no tokens.
        truncated: for each split, the places of rows that were cut.
        unknown: for each split, what the preprocessing does not know of each field.
        unknown_remedy: what a user can do about it.
    """
    counts = {split: Counter(names) for split, names in classes.items()}
    total = sum(counts.values(), Counter())
    return {
        "made_of": made_of,
        "rows": {split: len(rows) for split, rows in parts.items()},
        "classes": {name: {split: counts[split][name] for split in parts} for name, _ in total.most_common() if name},
        **({"tokens": {name: _spread(tokens) for name, tokens in lengths.items()}} if lengths else {}),
        "missing": {role: _finding(places) for role, places in dropped.items()},
        "left_out": _finding(left_out),
        "truncated": {split: _finding(truncated[split]) for split in parts},
        **_duplicates(parts, classes, roles),
        "unknown": _unknown(unknown),
        "unknown_remedy": unknown_remedy,
    }


def show(summary: dict[str, Any]) -> None:
    """Prints a summary for people."""
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


def normalized(row: Row, roles: Iterable[str]) -> str:
    """A text as it is compared: case, width and spaces make no difference."""
    return "\n".join(" ".join(unicodedata.normalize("NFKC", row.fields[role]).casefold().split()) for role in roles)


def _unknown(unknown: dict[str, dict[str, Unknown]]) -> dict[str, dict[str, Any]]:
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


def _duplicates(
    parts: dict[str, list[Row]], classes: dict[str, list[str]], roles: Sequence[str]
) -> dict[str, dict[str, Any]]:
    alike: dict[str, list[tuple[str, str, str]]] = defaultdict(list)  # text -> split, class, place
    for split, rows in parts.items():
        for row, name in zip(rows, classes[split], strict=True):
            alike[normalized(row, roles)].append((split, name, row.where))
    repeated: list[str] = []
    conflicting: list[str] = []
    crossing: dict[str, list[str]] = {split: [] for split in parts if split != TRAIN}
    for group in alike.values():
        group.sort(key=lambda one: _in_file_order(one[2]))
        repeated += [where for _, _, where in group[1:]]
        if len({name for _, name, _ in group}) > 1:
            conflicting += [where for _, _, where in group]
        if any(split == TRAIN for split, _, _ in group):
            for split, _, where in group:
                if split != TRAIN:
                    crossing[split].append(where)
    return {
        "duplicates": _finding(repeated),
        "conflicts": _finding(conflicting),
        "crossing": {split: _finding(places) for split, places in crossing.items()},
    }


def _finding(places: list[str]) -> dict[str, Any]:
    return {"rows": len(places), "first": sorted(places, key=_in_file_order)[:SHOWN_ROWS]}


def _in_file_order(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)


def _brief(places: list[str]) -> str:
    """`reports.csv:12, 40` for a table."""
    lines: dict[str, list[str]] = defaultdict(list)
    for place in places:
        file, _, line = place.rpartition(":")
        lines[Path(file).name].append(line)
    return "; ".join(f"{file}:{', '.join(numbers)}" for file, numbers in lines.items())


def _spread(tokens: np.ndarray) -> dict[str, float]:
    return {
        "shortest": int(tokens.min()),
        "median": round(float(np.median(tokens))),
        "mean": round(float(tokens.mean()), 2),
        "95 %": round(float(np.percentile(tokens, 95))),
        "longest": int(tokens.max()),
    }
