"""The summary: counts equal the data."""

from collections import Counter

import numpy as np
import pytest

from tfattn import console
from tfattn.data.preparation.summary import show, summarize
from tfattn.preprocessing.unknown import Unknown

NONE = {"rows": 0, "first": []}


def some(*lines):
    return {"rows": len(lines), "first": [f"/data/a.csv:{line}" for line in lines]}


def found(rows, classes, *, left_out=NONE, truncated=NONE, unknown=None):
    """What encoding a split finds."""
    unknown = {} if unknown is None else {"text": unknown}
    return {
        "rows": rows, "classes": Counter(classes), "left_out": left_out, "truncated": truncated, "unknown": unknown,
    }  # fmt: skip


@pytest.fixture
def summary():
    unknown = Unknown(3, 2, Counter({"Ｌoud": 1, "other": 1}))
    return summarize(
        {
            "train": found(4, {"noise": 3, "leak": 1}, left_out=some(7), truncated=some(5), unknown=Unknown(12)),
            "validation": found(2, {"noise": 1, "leak": 1}, unknown=unknown),
        },
        made_of="texts",
        missing={"text": some(9, 11), "label": NONE},
        empty={},
        remarks={"answer at another position": some(4)},
        duplicates={"rows": 2, "first": ["/data/a.csv:3", "/data/b.csv:2"]},
        conflicts=some(2, 3),
        crossing={"validation": {"rows": 1, "first": ["/data/b.csv:2"]}},
        lengths={"train": np.array([2, 2, 1, 7]), "validation": np.array([1, 1])},
        unknown_remedy="Learn more words.",
    )


def test_the_summary_has_all_statistics(summary):
    assert summary == {
        "made_of": "texts",
        "rows": {"train": 4, "validation": 2},
        "classes": {"noise": {"train": 3, "validation": 1}, "leak": {"train": 1, "validation": 1}},
        "tokens": {
            "train": {"shortest": 1, "median": 2, "mean": 3.0, "95 %": 6, "longest": 7},
            "validation": {"shortest": 1, "median": 1, "mean": 1.0, "95 %": 1, "longest": 1},
        },
        "missing": {
            "text": {"rows": 2, "first": ["/data/a.csv:9", "/data/a.csv:11"]},
            "label": {"rows": 0, "first": []},
        },
        "remarks": {"answer at another position": {"rows": 1, "first": ["/data/a.csv:4"]}},
        "left_out": {"rows": 1, "first": ["/data/a.csv:7"]},
        "truncated": {"train": {"rows": 1, "first": ["/data/a.csv:5"]}, "validation": {"rows": 0, "first": []}},
        "duplicates": {"rows": 2, "first": ["/data/a.csv:3", "/data/b.csv:2"]},
        "conflicts": {"rows": 2, "first": ["/data/a.csv:2", "/data/a.csv:3"]},
        "crossing": {"validation": {"rows": 1, "first": ["/data/b.csv:2"]}},
        "unknown": {
            "text": {
                "train": {"counted": 12, "unknown": 0, "fraction": 0.0, "most_frequent": {}},
                "validation": {
                    "counted": 3,
                    "unknown": 2,
                    "fraction": 0.6667,
                    "most_frequent": {"Ｌoud": 1, "other": 1},
                },
            }
        },
        "unknown_remedy": "Learn more words.",
    }


@pytest.fixture
def printed(monkeypatch):
    """What show prints, on a wide screen."""

    def run(summary):
        monkeypatch.setattr(console.console, "width", 160)
        with console.console.capture() as capture:
            show(summary)
        return capture.get()

    return run


def test_findings_are_printed(summary, printed):
    text = printed(summary)
    assert "left out: no text" in text
    assert "a.csv:9, 11" in text
    assert "a.csv:3; b.csv:2" in text
    assert "left out: too long to be trained on" in text
    assert "no label" not in text
    assert "Unknown tokens of `text`: 0.0% in train, 66.7% in validation" in text


def test_many_or_unusual_classes_are_shown_unchanged(summary, printed):
    many = {f"[red]class[/red] {number}": {"train": 1, "validation": 1} for number in range(40)}
    text = printed(summary | {"classes": many})
    assert "[red]class[/red] 29" in text
    assert "class[/red] 30" not in text
    assert "... 10 more" in text


def test_rows_without_tokens_have_no_lengths(printed):
    summary = summarize(
        {"train": found(4, {"noise": 4}), "validation": found(2, {"noise": 2})},
        made_of="columns",
        missing={"label": NONE},
        empty={},
        remarks={},
        duplicates=NONE,
        conflicts=NONE,
        crossing={"validation": NONE},
        lengths={},
        unknown_remedy="",
    )
    assert "tokens" not in summary and "remarks" not in summary
    assert "Tokens per row" not in printed(summary)
