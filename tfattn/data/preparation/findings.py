"""Findings in prepared data as sentences, for the console and the report."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfattn.errors import listed

MAX_UNKNOWN = 0.05  # fraction of all tokens or values above which a warning is printed
MAX_MISSING = 0.1  # fraction of all rows without a value above which a warning is printed
MAX_COLUMNS = 5  # that a sentence names
TEXTS, COLUMNS, IMAGES = "texts", "columns", "images"  # kinds of inputs
_WORDS = {
    TEXTS: {
        "crossing": "{split} text that is also a training row's",
        "conflicts": "same text, different labels",
        "duplicates": "text that repeats an earlier row's",
        "nothing": "No value is missing, no text occurs twice, and none is longer than the limit.",
        "unknown": "tokens",
    },
    COLUMNS: {
        "crossing": "{split} row that is also a training row",
        "conflicts": "same values, different labels",
        "duplicates": "row that repeats an earlier row",
        "nothing": "No row lacks its label, and none occurs twice.",
        "unknown": "values",
    },
    IMAGES: {
        "crossing": "{split} image that is also a training image",
        "conflicts": "same image, different labels",
        "duplicates": "image that is the same as an earlier one",
        "no": "left out: no {role} that can be read",
        "nothing": "Every image can be read, and none occurs twice.",
        "unknown": "values",
    },
}


def findings(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the findings on rows by description, the most important first."""
    words = _WORDS[summary["made_of"]]
    found = {
        # Leaked rows are not unseen.
        **{words["crossing"].format(split=split): finding for split, finding in summary["crossing"].items()},
        words["conflicts"]: summary["conflicts"],
        words["duplicates"]: summary["duplicates"],
        **{f"{split} text cut at the limit": finding for split, finding in summary["truncated"].items()},
        "left out: too long to be trained on": summary["left_out"],
        **{
            words.get("no", "left out: no {role}").format(role=role): finding
            for role, finding in summary["missing"].items()
        },
        **summary.get("remarks", {}),
    }
    return {what: finding for what, finding in found.items() if finding["rows"]}


def sentences(summary: dict[str, Any]) -> list[str]:
    """Return sentences on missing values, on unknown tokens or values, and on the lack of findings."""
    words = _WORDS[summary["made_of"]]
    result = [] if findings(summary) else [words["nothing"]]
    rows = sum(summary["rows"].values()) + sum(finding["rows"] for finding in summary["missing"].values())
    for role, finding in summary["missing"].items():
        if finding["rows"] > MAX_MISSING * rows:
            result.append(
                f"{finding['rows']:,} of {rows:,} rows ({finding['rows'] / rows:.1%}) have no `{role}` and are left "
                f"out, such as {finding['first'][0]}. If an empty value has a meaning, write it out in the file."
            )
    if empty := summary.get("empty"):
        columns = [
            f"`{name}` in {finding['rows']:,} of {rows:,} rows, such as {finding['first'][0]}"
            for name, finding in empty.items()
        ]
        result.append(f"Missing values, which the model reads as missing: {listed(columns, MAX_COLUMNS)}.")
    for name, splits in summary["unknown"].items():
        worst = max(splits.values(), key=lambda counts: counts["fraction"])
        if worst["fraction"] > MAX_UNKNOWN:
            fractions = ", ".join(f"{counts['fraction']:.1%} in {split}" for split, counts in splits.items())
            result.append(
                f"Unknown {words['unknown']} of `{name}`: {fractions}; most frequently "
                f"{', '.join(worst['most_frequent'])}. What they say is lost on the model. {summary['unknown_remedy']}"
            )
    return result


def brief(locations: Sequence[str]) -> str:
    """Shorten locations for a table, such as `reports.csv:12, 40`."""
    lines: dict[str, list[str]] = defaultdict(list)
    for location in locations:
        file, _, line = location.rpartition(":")
        is_line = line.isdecimal()
        lines[Path(file if is_line else location).name] += [line] if is_line else []
    return "; ".join(f"{file}:{', '.join(numbers)}" if numbers else file for file, numbers in lines.items())
