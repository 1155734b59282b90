"""Blocks of words, and their context windows."""

import numpy as np
import pytest
from keras import ops

from tfattn.ops.context_windows import in_blocks, near

pytestmark = pytest.mark.every_backend


def test_rows_are_cut_into_padded_blocks():
    blocks = np.array(in_blocks(ops.convert_to_tensor(np.arange(1, 11).reshape(2, 5)), 3))
    assert blocks.tolist() == [[[1, 2, 3], [4, 5, 0]], [[6, 7, 8], [9, 10, 0]]]
    assert in_blocks(ops.ones((2, 6, 4)), 3).shape == (2, 2, 3, 4)


def test_windows_have_their_reach_within_blocks():
    before, after = (
        np.array([[[0, 1, 2, 9]], [[0, 0, 1, 0]]], "int32"),
        np.array([[[9, 1, 0, 1]], [[1, 0, 1, 0]]], "int32"),
    )
    found = np.array(near(ops.convert_to_tensor(before), ops.convert_to_tensor(after)))
    assert [np.flatnonzero(row).tolist() for row in found[0, 0]] == [[1, 2, 3], [0, 2], [0, 1], [0, 1, 2]]
    assert [np.flatnonzero(row).tolist() for row in found[1, 0]] == [[1], [], [1, 3], []]
    assert set(np.unique(found)) == {0.0, 1.0}
