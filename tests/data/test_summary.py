"""The summary: what is counted is what is there."""

from collections import Counter

import numpy as np
import pytest

from tfattn import console
from tfattn.data.class_plot import draw_classes
from tfattn.data.source import Row
from tfattn.data.summary import normalized, show, summarize
from tfattn.preprocessing.unknown import Unknown

TRAIN = [("Pump leaks", "leak"), ("pump  LEAKS", "noise"), ("loud", "noise"), ("new", "noise")]
VALIDATION = [("Ｌoud", "noise"), ("other", "leak")]


def rows(pairs, file):
    return [Row({"text": text, "label": label}, f"/data/{file}:{line}") for line, (text, label) in enumerate(pairs, 2)]


@pytest.fixture
def summary():
    parts = {"train": rows(TRAIN, "a.csv"), "validation": rows(VALIDATION, "b.csv")}
    return summarize(
        parts,
        made_of="texts",
        classes={split: [row.fields["label"] for row in part] for split, part in parts.items()},
        roles=["text"],
        dropped={"text": ["/data/a.csv:11", "/data/a.csv:9"], "label": []},
        left_out=["/data/a.csv:7"],
        lengths={"train": np.array([2, 2, 1, 7]), "validation": np.array([1, 1])},
        truncated={"train": ["/data/a.csv:5"], "validation": []},
        unknown={
            "train": {"text": Unknown(12)},
            "validation": {"text": Unknown(3, 2, Counter({"Ｌoud": 1, "other": 1}))},
        },
        unknown_remedy="Learn more words.",
    )


def test_figures(summary):
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


def test_people_read_what_is_worth_a_look(summary, printed):
    text = printed(summary)
    assert "left out: no text" in text
    assert "a.csv:9, 11" in text
    assert "a.csv:3; b.csv:2" in text
    assert "left out: too long to be trained on" in text
    assert "no label" not in text
    assert "Unknown tokens of `text`: 0.0% in train, 66.7% in validation" in text


def test_many_or_odd_classes_are_shown_as_they_are(summary, printed):
    many = {f"[red]class[/red] {number}": {"train": 1, "validation": 1} for number in range(40)}
    text = printed(summary | {"classes": many})
    assert "[red]class[/red] 29" in text
    assert "class[/red] 30" not in text
    assert "... 10 more" in text


def test_texts_are_compared_without_case_width_and_spaces():
    one, other = (Row({"text_a": a, "text_b": "b"}, "x:1") for a in ("  Ｐump\tLEAKS", "pump leaks"))
    assert normalized(one, ["text_a", "text_b"]) == normalized(other, ["text_a", "text_b"])
    moved = Row({"text_a": "pump", "text_b": "leaks b"}, "x:1")
    assert normalized(moved, ["text_a", "text_b"]) != normalized(other, ["text_a", "text_b"])


def test_the_picture_takes_any_class_name(tmp_path):
    names = ["$5 and $10", "a_b^c", "x" * 200, *map(str, range(60))]
    draw_classes({name: {"train": 3, "validation": 1} for name in names}, tmp_path / "classes.png")
    assert (tmp_path / "classes.png").read_bytes().startswith(b"\x89PNG")


def test_rows_without_tokens_have_no_lengths(printed):
    parts = {"train": rows(TRAIN, "a.csv"), "validation": rows(VALIDATION, "b.csv")}
    summary = summarize(
        parts,
        made_of="columns",
        classes={split: [row.fields["label"] for row in part] for split, part in parts.items()},
        roles=["text"],
        dropped={"label": []},
        left_out=[],
        lengths={},
        truncated={"train": [], "validation": []},
        unknown={"train": {}, "validation": {}},
        unknown_remedy="",
    )
    assert "tokens" not in summary
    assert "Tokens per row" not in printed(summary)
