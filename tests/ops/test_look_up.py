"""Rows of tables."""

import keras
import numpy as np
import pytest
from keras import ops

from tfattn.ops.look_up import look_up


@pytest.mark.every_backend
def test_rows_are_those_of_the_table_in_any_shape():
    values = np.arange(12, dtype="float32").reshape(4, 3)
    table = keras.Variable(values)
    for ids in (np.array([3, 0, 3]), np.array([[1], [2]])):
        np.testing.assert_array_equal(ops.convert_to_numpy(look_up(table, ops.convert_to_tensor(ids))), values[ids])


def test_the_gradient_is_a_list_of_rows():
    import tensorflow as tf

    table = keras.Variable(np.zeros((1000, 3), "float32"))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(look_up(table, tf.constant([[5, 7, 5]])))
    gradient = tape.gradient(total, table.value)
    assert isinstance(gradient, tf.IndexedSlices) and gradient.indices.numpy().tolist() == [5, 7, 5]
