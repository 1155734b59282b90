"""Samples of tables: large files are read in parts, in bounded time and memory."""

import json

import pytest

from tfattn.recipes import samples, stretches
from tfattn.recipes.samples import read_sample

LABELS = ("first", "second", "third", "last")


def never(question, answers, option):
    raise AssertionError(question)


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file that counts as large, sorted by its label: rows -> a sample of it."""
    monkeypatch.setattr(stretches, "LARGE_BYTES", 100_000)
    monkeypatch.setattr(samples, "STRETCH_BYTES", 4_000)
    monkeypatch.setattr(samples, "MAX_ROWS", 2_000)

    def large(text_of, suffix=".csv", rows=40_000):
        path = tmp_path / f"large{suffix}"
        lines = (text_of(number, LABELS[number * len(LABELS) // rows]) for number in range(rows))
        path.write_text(("text,label\n" if suffix == ".csv" else "") + "".join(lines), encoding="utf-8")
        return read_sample(str(path), delimiter=None, ask=never)

    return large


@pytest.mark.parametrize(
    ("text_of", "suffix"),
    [
        (lambda number, label: f"row {number} is kept,{label}\n", ".csv"),
        (lambda number, label: f'"row {number}, in\nsome, lines\n","{label}"\n', ".csv"),
        (lambda number, label: json.dumps({"text": f"row {number}", "label": label}) + "\n", ".jsonl"),
    ],
)
def test_rows_of_a_large_file_are_from_all_parts(large, text_of, suffix):
    sample = large(text_of, suffix)
    assert set(sample.columns["label"]) == set(LABELS)
    assert all(text.startswith("row ") for text in sample.columns["text"])
    assert sample.is_estimate and 0.9 < sample.num_rows / 40_000 < 1.1
    assert 500 < sample.num_sampled <= 2_000
    assert "quoting" not in sample.source


def test_a_sample_of_many_columns_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "MAX_BYTES", 100_000)
    path = tmp_path / "wide.csv"
    names = [f"column_{number}" for number in range(100)]
    path.write_text(",".join(names) + "\n" + (",".join("1" * 100) + "\n") * 500)
    sample = read_sample(str(path), delimiter=None, ask=never)
    assert sample.num_rows == 500 and sample.num_sampled < 20


def test_characters_in_the_middle_of_a_large_file_decide_its_encoding(tmp_path, monkeypatch):
    monkeypatch.setattr(stretches, "LARGE_BYTES", 10_000)
    path = tmp_path / "large.csv"
    path.write_text(
        "text,label\n" + "plain,a\n" * 30_000 + "née,b\n" * 10_000 + "plain,a\n" * 10_000, encoding="cp1252"
    )
    sample = read_sample(str(path), delimiter=None, ask=never)
    assert sample.source["encoding"] == "cp1252" and "née" in sample.columns["text"]
