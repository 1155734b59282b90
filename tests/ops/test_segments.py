"""Means of elements that belong together."""

import numpy as np
from keras import ops

from tfattn.ops.segments import mean_by_row


def test_each_row_gets_the_mean_of_its_elements_and_zeros_without_one():
    x = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 5.0]])
    found = ops.convert_to_numpy(mean_by_row(x, np.array([0, 0, 2]), 4))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [[2, 4], [0, 0], [5, 5], [0, 0]])
