"""Joining of rows of unequal width, with padding values; the nearest rows."""

import numpy as np
import pytest

from tfattn.rows import evenly_spaced, joined_rows, nearest_rows, normalized, widened


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


def test_the_nearest_rows_of_blocks_equal_those_of_all_rows(monkeypatch):
    monkeypatch.setattr("tfattn.rows.BLOCK_ROWS", 7)
    monkeypatch.setattr("tfattn.rows.BLOCK_QUERIES", 2)
    draw = np.random.default_rng(4)
    queries, rows = draw.normal(size=(5, 3)).astype("float32"), draw.normal(size=(31, 3)).astype("float32")
    found, scores = nearest_rows(queries, rows, 4)
    products = queries @ rows.T
    np.testing.assert_array_equal(found, np.argsort(-products, axis=1)[:, :4])
    np.testing.assert_allclose(scores, -np.sort(-products, axis=1)[:, :4], rtol=1e-5)
    assert nearest_rows(queries, rows[:2], 4)[0].shape == (5, 2)


def test_vectors_are_normalized_except_zeros():
    np.testing.assert_allclose(normalized(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0, 0]])
