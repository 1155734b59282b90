"""Adding where it lies: the sum is right, and whoever still holds the old tensor keeps it."""

import keras
import numpy as np
import pytest
from keras import ops

from tfattn.ops.additions import added_in_place

pytestmark = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="only TensorFlow adds in place")


def test_rows_are_added_to_and_the_old_tensor_stays_as_it_was():
    old = ops.ones((4, 2))
    new = added_in_place(old, [[2], [0]], ops.convert_to_tensor([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(new, [[4, 5], [1, 1], [2, 3], [1, 1]])
    np.testing.assert_array_equal(old, np.ones((4, 2)))


def test_in_a_loop_nothing_is_lost():
    import tensorflow as tf

    @tf.function(autograph=False)
    def filled(rows):
        def one(index, x):
            return index + 1, added_in_place(x, [[index]], tf.fill([1, 3], tf.cast(index, "float32")))

        return tf.while_loop(lambda index, x: index < rows, one, (0, tf.zeros((rows, 3))))[1]

    for _ in range(2):  # zeros that are a constant of the graph are still zeros
        np.testing.assert_array_equal(filled(5), np.arange(5)[:, None] * np.ones(3))
