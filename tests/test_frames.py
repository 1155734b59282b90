"""Rows of Python callers become the texts of a file, and results become DataFrames."""

import datetime

import numpy as np
import pandas as pd
import pytest

from tfattn.errors import DataError
from tfattn.frames import as_cell, to_frame, to_rows


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("x", "x"),
        (b"\x89PNG", b"\x89PNG"),
        (None, ""),
        (float("nan"), ""),
        (pd.NA, ""),
        (pd.NaT, ""),
        (np.float32(0.5), "0.5"),
        (1e300, "1e+300"),
        (np.int64(3), "3"),
        (3.0, "3"),
        (True, "True"),
        (np.bool_(False), "False"),
        (["a", 1], ["a", "1"]),
        (np.array(["a"]), ["a"]),
        (datetime.date(2026, 1, 2), "2026-01-02"),
    ],
)
def test_cells_are_the_texts_of_a_file(value, cell):
    assert as_cell(value) == cell


ROW = [{"text": "a"}, {"text": "b"}]


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (pd.DataFrame({"text": ["a", "b"]}), ROW),
        (["a", "b"], ROW),
        (pd.Series(["a", "b"]), ROW),
        (np.array(["a", "b"]), ROW),
        (ROW, ROW),
        ({"text": "a"}, ROW[:1]),
        ("a", ROW[:1]),
        ([], []),
        (pd.DataFrame({7: [1, None]}), [{"7": "1"}, {"7": ""}]),
    ],
    ids=str,
)
def test_rows_of_all_kinds(data, rows):
    assert to_rows(data)[0] == rows


def test_the_index_of_a_frame_is_kept():
    _, index = to_rows(pd.DataFrame({"text": ["a", "b"]}, index=["x", "y"]))
    frame = to_frame([{"label": "l", "scores": {"l": 0.5, "m": 0.5}}] * 2, index)
    assert list(frame.index) == ["x", "y"] and list(frame.columns) == ["label", "scores.l", "scores.m"]


@pytest.mark.parametrize(
    ("data", "message"), [(3, "not rows"), ([3], "row 0: not a row"), ([{"a": object()}], "row 0, a")]
)
def test_other_types_are_refused_with_the_row(data, message):
    with pytest.raises(DataError, match=message):
        to_rows(data)
