"""Operations that differ between backends."""

import keras
import numpy as np
import pytest
from keras import ops

from tfattn.ops.backend import embedding_lookup, inferred, scatter_add

only_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="other backends copy")


@pytest.mark.every_backend
def test_static_shapes_are_unchanged():
    assert inferred(ops.ones((2, 0, 3))) == (2, 0, 3)


def test_a_single_unknown_dimension_is_inferred():
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


@pytest.mark.every_backend
def test_lookup_accepts_indices_of_any_shape():
    values = np.arange(12, dtype="float32").reshape(4, 3)
    table = keras.Variable(values)
    for ids in (np.array([3, 0, 3]), np.array([[1], [2]])):
        np.testing.assert_array_equal(
            ops.convert_to_numpy(embedding_lookup(table, ops.convert_to_tensor(ids))), values[ids]
        )


@only_tensorflow
def test_the_gradient_is_sparse():
    import tensorflow as tf

    table = keras.Variable(np.zeros((1000, 3), "float32"))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(embedding_lookup(table, tf.constant([[5, 7, 5]])))
    gradient = tape.gradient(total, table.value)
    assert isinstance(gradient, tf.IndexedSlices) and gradient.indices.numpy().tolist() == [5, 7, 5]


@only_tensorflow
def test_scatter_add_does_not_change_its_input():
    old = ops.ones((4, 2))
    new = scatter_add(old, [[2], [0]], ops.convert_to_tensor([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(new, [[4, 5], [1, 1], [2, 3], [1, 1]])
    np.testing.assert_array_equal(old, np.ones((4, 2)))


@only_tensorflow
def test_scatter_add_works_in_a_loop():
    import tensorflow as tf

    @tf.function(autograph=False)
    def filled(rows):
        def one(index, x):
            return index + 1, scatter_add(x, [[index]], tf.fill([1, 3], tf.cast(index, "float32")))

        return tf.while_loop(lambda index, x: index < rows, one, (0, tf.zeros((rows, 3))))[1]

    for _ in range(2):  # zeros that are a constant of the graph are still zeros
        np.testing.assert_array_equal(filled(5), np.arange(5)[:, None] * np.ones(3))
