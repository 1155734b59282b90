"""Joining of rows of unequal width, with padding values."""

import numpy as np
import pytest

from tfattn.rows import evenly_spaced, joined_rows, widened


@pytest.mark.parametrize(("count", "limit", "expected"), [(9, 3, [0, 4, 8]), (2, 5, [0, 1]), (0, 3, []), (5, 1, [0])])
def test_values_are_evenly_spaced(count, limit, expected):
    assert evenly_spaced(range(count), limit) == expected


@pytest.mark.parametrize(
    ("dtype", "pad", "fill"),
    [(np.float32, 0, 0), (np.int32, -1, -1), (bool, 0, False), (object, 0, b"")],
)
def test_rows_of_any_type_and_number_of_axes_are_joined(dtype, pad, fill):
    parts = [np.ones((1, 2, 1), dtype), np.ones((0, 0, 0), dtype), np.ones((2, 1, 3), dtype)]
    joined = joined_rows(parts, pad=pad)
    assert joined.shape == (3, 2, 3) and joined.dtype == dtype
    rows = [row for part in parts for row in part]
    for row, whole in zip(rows, joined, strict=True):
        assert (whole[: row.shape[0], : row.shape[1]] == row).all()
        assert (whole == 1).sum() == row.size and (whole == fill).sum() == whole.size - row.size


def test_rows_of_full_width_are_unchanged():
    rows = np.arange(6).reshape(2, 3)
    assert widened(rows, [3]) is rows
    assert widened(np.zeros((2, 3, 4)), [5]).shape == (2, 5, 4)
    assert joined_rows([np.arange(2), np.arange(3)]).tolist() == [0, 1, 0, 1, 2]
