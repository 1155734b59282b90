"""Shapes as reshaping takes them: an unknown number of rows is inferred, where it can be."""

import numpy as np
import pytest
from keras import ops

from tfattn.ops.shapes import inferred


@pytest.mark.every_backend
def test_known_shapes_are_as_they_are():
    assert inferred(ops.ones((2, 0, 3))) == (2, 0, 3)


def test_an_unknown_number_of_rows_is_inferred_where_nothing_else_is_unknown_or_empty():
    tf = pytest.importorskip("tensorflow")
    found = {}

    def see(x):
        found[tuple(x.shape)] = inferred(x)
        return tf.reshape(tf.reshape(x, [-1]), found[tuple(x.shape)])

    for sizes in ((None, 3), (None, 0), (None, None)):
        function = tf.function(see, input_signature=[tf.TensorSpec(sizes)])
        for rows in (0, 2):
            x = np.ones((rows, 0 if sizes[1] == 0 else 3), "float32")
            assert function(x).shape == x.shape
    assert found[(None, 3)] == (-1, 3)
