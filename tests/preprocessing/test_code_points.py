"""Tables of all characters: each entry is found, and pages that are equal are kept once."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.preprocessing.code_points import CODE_POINTS, CodePointTable, build_pages


@pytest.mark.parametrize("shape", [(CODE_POINTS,), (CODE_POINTS, 2)])
def test_each_character_has_its_entry(shape):
    table = np.zeros(shape, np.int32)
    table[[0, 97, 128, 0x10FFFF]] = np.arange(1, 5).reshape(-1, *[1] * (len(shape) - 1))
    pages = build_pages(table)
    asked = [0, 1, 97, 127, 128, 0x3000, 0x10FFFF]
    np.testing.assert_array_equal(CodePointTable(pages)(tf.constant(asked)), table[asked])
    assert len(pages.entries) == 4 * 128
